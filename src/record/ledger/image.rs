//! Images that are sent with a question: their bytes are kept nowhere, what they were is on record.

use serde::{Deserialize, Serialize};

use crate::record::hash::Hash32;

/// What image a file is, as its first bytes tell; its print is the media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImageType {
    /// Image in GIF, `image/gif`.
    #[serde(rename = "image/gif")]
    Gif,
    /// Image in JPEG, `image/jpeg`.
    #[serde(rename = "image/jpeg")]
    Jpeg,
    /// Image in PNG, `image/png`.
    #[serde(rename = "image/png")]
    Png,
    /// Image in WebP, `image/webp`.
    #[serde(rename = "image/webp")]
    Webp,
}

/// Where WebP's own sign stands, behind that of its container and a length.
const WEBP_AT: usize = 8;

impl ImageType {
    /// By the signs that such files begin with; none for any other.
    pub fn of(bytes: &[u8]) -> Option<ImageType> {
        let signs: [(&[u8], ImageType); 4] = [
            (b"\x89PNG\r\n\x1a\n", ImageType::Png),
            (b"\xff\xd8\xff", ImageType::Jpeg),
            (b"GIF87a", ImageType::Gif),
            (b"GIF89a", ImageType::Gif),
        ];
        let found = signs.iter().find(|(sign, _)| bytes.starts_with(sign));
        let behind = bytes.get(WEBP_AT..).unwrap_or_default();
        let is_webp = bytes.starts_with(b"RIFF") && behind.starts_with(b"WEBP");
        found
            .map(|(_, kind)| *kind)
            .or(is_webp.then_some(ImageType::Webp))
    }

    /// Its media type.
    pub const fn name(self) -> &'static str {
        match self {
            ImageType::Gif => "image/gif",
            ImageType::Jpeg => "image/jpeg",
            ImageType::Png => "image/png",
            ImageType::Webp => "image/webp",
        }
    }
}

/// An image as documents name it; keys in this order are also their canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageEntry {
    /// How many bytes it has.
    pub bytes: u64,
    /// Of these bytes.
    pub sha256: Hash32,
    /// What it is.
    pub r#type: ImageType,
}

/// An image with its bytes, which are sent and then forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// What is on record of it.
    pub named: ImageEntry,
    /// The file's bytes.
    pub content: Vec<u8>,
}

impl ImageFile {
    /// Of a file's bytes; none where they are no image that servers take.
    pub fn of(content: Vec<u8>) -> Option<ImageFile> {
        let named = ImageEntry {
            bytes: u64::try_from(content.len()).unwrap_or(u64::MAX),
            sha256: Hash32::digest(&content),
            r#type: ImageType::of(&content)?,
        };
        Some(ImageFile { named, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_how_it_begins() {
        for (bytes, kind) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some(ImageType::Png)),
            (b"\xff\xd8\xff\xe0", Some(ImageType::Jpeg)),
            (b"GIF87a..", Some(ImageType::Gif)),
            (b"GIF89a", Some(ImageType::Gif)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some(ImageType::Webp)),
            (b"RIFF\x10\0\0\0WAVE", None),
            (b"GIF88a", None),
            (b"\x89PNG", None),
            (b"", None),
        ] {
            assert_eq!(ImageType::of(bytes), kind, "{bytes:?}");
        }
        let named = ImageFile::of(b"GIF89a".to_vec()).unwrap().named;
        let print = serde_json::to_string(&named).unwrap();
        let sha256 = Hash32::digest(b"GIF89a");
        assert_eq!(
            print,
            format!("{{\"bytes\":6,\"sha256\":\"{sha256}\",\"type\":\"image/gif\"}}")
        );
    }
}
