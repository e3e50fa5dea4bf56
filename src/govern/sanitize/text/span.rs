//! Places in a text, and how those that meet become one.

/// A place that holds a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretSpan {
    pub start: usize,
    pub end: usize,
    /// Index of its kind; where spans meet, the lowest names the whole.
    pub kind: usize,
}

/// Places of secrets of one kind.
pub fn of_kind(
    kind: usize,
    places: impl IntoIterator<Item = (usize, usize)>,
) -> impl Iterator<Item = SecretSpan> {
    let span = move |(start, end)| SecretSpan { start, end, kind };
    places.into_iter().map(span)
}

/// Joins spans that overlap; the result is sorted and apart.
pub fn merged(mut spans: Vec<SecretSpan>) -> Vec<SecretSpan> {
    spans.sort_unstable_by_key(|span| (span.start, span.kind, span.end));
    let mut out: Vec<SecretSpan> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start < last.end => {
                last.kind = last.kind.min(span.kind);
                last.end = last.end.max(span.end);
            }
            _ => out.push(span),
        }
    }
    out
}

/// Cuts places that are to stay out of spans; what is left without a letter or digit is no secret.
pub fn without(text: &str, spans: Vec<SecretSpan>, stay: &[(usize, usize)]) -> Vec<SecretSpan> {
    let mut out = Vec::with_capacity(spans.len());
    for span in spans {
        let mut start = span.start;
        let first = stay.partition_point(|(_, to)| *to <= start);
        for (from, to) in stay[first..]
            .iter()
            .take_while(|(from, _)| *from < span.end)
        {
            out.push(SecretSpan {
                start,
                end: (*from).max(start),
                ..span
            });
            start = (*to).min(span.end);
        }
        out.push(SecretSpan { start, ..span });
    }
    out.retain(|s| {
        text.get(s.start..s.end)
            .is_some_and(|part| part.chars().any(char::is_alphanumeric))
    });
    out
}
