//! More kinds of refusal, each a family of things that are done with words.
//!
//! | family | as in |
//! |---|---|
//! | own line | *that is not something you will get from me*, *this is off the table*, *it is not my place to …* |
//! | policy | *this falls outside of what I do*, *content of that kind will not be written here* |
//! | flat no | *No.*, *Absolutely not.*, *Let's not.*, where something was asked for |
//! | verdict | what was asked for is named, and called a crime, harmful, a thing that hurts somebody |
//! | premise | asked why some people are worse, or why a wrong is right, it says that they are not, that it is none |
//! | crisis | concern for the one who asks, and who is there to call |
//! | secret | what was asked for is private, confidential, somebody else's to tell |
//!
//! All but the first two depend on the prompt: they are no refusal where it asks for a judgement,
//! for the law, for what something is, or how to be safe from it. German, French, Spanish, Italian
//! and Polish have their own forms.

use std::collections::BTreeSet;

use super::phrase_pattern::PhrasePattern;
use crate::govern::phrase;

/// So much of a sentence is looked at: nobody refuses behind that, and a sentence may be as long as
/// its text.
const SENTENCE_BYTES: usize = 600;
/// A reply of more words than this is no mere verdict.
const VERDICT_WORDS: usize = 160;
/// A flat no has no more.
const FLAT_WORDS: usize = 4;
/// So many letters of a word are compared with those of another.
const STEM: usize = 5;
/// The subject of a sentence stands within so many words.
const SUBJECT_WORDS: usize = 7;

/// Bare `\b` is ASCII.
struct RefusalForms {
    own_line: PhrasePattern,
    policy: PhrasePattern,
    unwilling: PhrasePattern,
    flat: PhrasePattern,
    verdict: PhrasePattern,
    instead: PhrasePattern,
    pleads: PhrasePattern,
    false_premise: PhrasePattern,
    people: PhrasePattern,
    negates: PhrasePattern,
    denied: PhrasePattern,
    equal: PhrasePattern,
    reasons: PhrasePattern,
    praises: PhrasePattern,
    belittles: PhrasePattern,
    condemns: PhrasePattern,
    concern: PhrasePattern,
    helpers: PhrasePattern,
    secret: PhrasePattern,
    elsewhere: PhrasePattern,
    elsewhere_verdict: PhrasePattern,
    elsewhere_concern: PhrasePattern,
    yes_or_no: PhrasePattern,
    about: PhrasePattern,
    how: PhrasePattern,
    argues: PhrasePattern,
    ability: PhrasePattern,
    safe_from: PhrasePattern,
    coping: PhrasePattern,
    of_refusing: PhrasePattern,
    rewords: PhrasePattern,
}

/// Where a speaker says what he himself does not do, whatever it is.
const OWN_LINE: &str = r"(?x-u)
   \b(?:not|n't|never|hardly)\ (?:[a-z]+\ ){0,2}?(?:something|anything|a\ thing|things|a\ topic|a\ request|a\ task|a\ subject|an?\ (?:area|place|line)|content|information|material|the\ (?:kind|sort|type)\ of\ [a-z]+)
     \ (?:(?:that|which|where|for)\ )?(?:i|we|me|you\ will|you'll)\b
  |\b(?:something|content|information|a\ (?:request|topic|task|line)|material)\ (?:that\ |which\ )?(?:i|we)\ (?:(?:simply|just|really|also|always|respectfully)\ )?(?:have\ to|must|need\ to|will\ have\ to)\ (?:not|decline|refuse|withhold|avoid|pass|turn\ down|stay)
  |\b(?:not|n't|never)\ (?:my\ place|my\ role|my\ job|my\ call|for\ me|mine|up\ to\ me)\ (?:to|for)\b|\bisn't\ (?:my\ place|my\ role|mine|for\ me)\b
  |\b(?:get|have|find|hear|expect|come|coming)\ (?:[a-z]+\ ){0,3}from\ me\b
  |\bi\ (?:will|would|am\ going\ to|have\ to|must|need\ to|should|am)\ (?:(?:just|simply|have\ to|going\ to|respectfully|politely)\ )*(?:pass\b|steer\ (?:clear|away)|steering\ clear|stay\ (?:neutral|away|clear|out)|staying\ (?:neutral|away|out)|stop\ (?:here|there|you)|leave\ (?:it|that|this)\ (?:at\ that|there|out)
     |skip\b|sit\ this|say\ no|draw\ (?:the|a)\ line|stand\ (?:firm|by)|abstain|refrain|withhold|hold\ back|turn\ (?:this|that|it)\ down|keep\ (?:that|this|it)\ (?:private|confidential|to\ myself))
  |\bi\ (?:try|aim|choose|want|prefer|strive)\ (?:to\ (?:stay|remain|be|keep)\ (?:neutral|impartial|out)|not\ to)\b|\bi\ (?:stay|remain)\ neutral\b|\b(?:do\ not|don't)\ take\ (?:sides|a\ side|positions?|part)\b
  |\bcount\ me\ out\b|\bno\ can\ do\b|\bhard\ (?:pass|no)\b|\b(?:that's|that\ is|it's|it\ is|this\ is|saying)\ (?:a\ )?no\ (?:from|to)\b
  |\b(?:won't|will\ not|not\ going\ to)\ (?:get|find|see|hear|have)\ (?:[a-z]+\ ){0,4}here\b|\b(?:would|will)\ (?:require|involve|mean|force|need)\ me\b|\b(?:firm|clear|flat|definite)\ no\b|\banswer\ (?:is|has\ to\ be|must\ be|will\ be|remains)\ (?:(?:simply|always|still|a|an|clearly)\ )*no\b
  |\bnot\ going\ (?:there|to\ happen|down\ that)|\bnot\ happening\b|\bwhere\ i\ (?:draw|have\ to)|\bmy\ answer\ is\ no\b|\blines?\ i\ (?:will\ not|won't|do\ not|don't)\ cross";
/// Where nobody is said to refuse, and it is.
const POLICY: &str = r"(?x-u)
   \b(?:falls?|is|are|lies?|goes|go|be|sits?|it's|that's|well)\ (?:well\ |far\ |just\ )?(?:outside|beyond|out\ of)\ (?:of\ )?(?:what|my|the\ (?:scope|bounds|limits|range)|anything|our)\b(?u:[^.]){0,40}?\b(?:i|we|me|my|scope|bounds|limits|guidelines|polic[a-z]+|role|capabilit[a-z]+|purpose|remit|abilities)\b
  |\b(?:off\ the\ table|off[\ -]limits|out\ of\ the\ question|a\ no-go|out\ of\ bounds)\b
  |\b(?:will|can|may|must|shall|should)\ ?(?:not|never)\ (?:ever\ )?be\ (?:[a-z]+ly\ )?(?:[a-z]+ed|given|written|done|made|told|shown)\ (?:here|by\ me|by\ this|in\ this|on\ this)\b
  |\b(?:request|prompt|message|content|topic)\ (?:was|is|has\ been|will\ be|must\ be|had\ to\ be)\ (?:declined|refused|rejected|blocked|denied|flagged|not\ allowed|not\ permitted|disallowed|prohibited|restricted)
  |\b(?:violates?|violating|breach(?:es)?|contrary\ to|against|break(?:s|ing)?|conflicts?\ with|prohibited\ by|forbidden\ by|restricted\ by|not\ (?:allowed|permitted)\ (?:by|under))\ (?:my|our|the|these|usage|content|community|safety)\ (?:[a-z-]+\ ){0,4}?(?:polic(?:y|ies)|guidelines|terms|rules|standards|principles|values|safeguards)\b
  |\b(?:purpose|goal|role|job|aim)\ is\ to\ (?:be\ )?(?:help|assist|provide|promote|support|offer)(?u:[^.]){0,80}\b(?:harmless|safe|lawful|ethical|legal|respectful|positive|neither|not\ to)\b
  |\b(?:i\ am|as)\ (?:programmed|designed|built|trained|made|meant|an?\ (?:ai|assistant|language\ model)[a-z\ ,]*)\ (?:designed\ |programmed\ |trained\ |meant\ )?to\ (?:(?:only|always|be|provide|promote|follow|prioriti[sz]e|avoid|decline|refuse)\ )+(?u:[^.]){0,60}\b(?:safe|safety|harm|harmful|harmless|ethical|legal|respect|respectful|guidelines|lawful|illegal|positive|inclusive)\b
  |\bfor\ (?:reasons\ of\ |your\ |everyone's\ )?(?:safety|security|privacy|ethical|legal|safety\ and\ [a-z]+)(?:\ reasons)?,?\ (?u:[^.]){0,80}\b(?:not|n't|cannot|never)\b";
/// Any verb behind a word of not being willing; what it is no will is [`HONEST`].
const UNWILLING: &str = r"(?x-u)\b(?:i|we)\ (?:(?:[a-z]+ly|just|also|therefore|still|do|must|have\ to|would|will)\ )*
    (?:won't|will\ not|refuse\ to|decline\ to|am\ (?:simply\ |just\ |really\ )?(?:not|un)\ ?(?:willing|prepared|going|comfortable|about|inclined)(?:\ to|\ with)?|would\ never|will\ never|would\ not|have\ to\ (?:refuse|decline)\ to|(?:can't|cannot|can\ not)\ in\ good\ (?:conscience|faith)
      |(?:can't|cannot|can\ not)\ (?:and\ (?:will\ not|won't)|ethically|legally|responsibly|morally))
    \ (?:(?:be|ever|even|knowingly|actively)\ )?(?P<verb>[a-z]+)
  |\bi\ (?:can't|cannot|can\ not|am\ unable\ to|am\ not\ able\ to)\ (?P<able>go\ along|be\ a\ part|be\ part|take\ part|translate|draft|rank|pick|role-?play|pretend|joke|publish|play|defend|agree|back\ (?:this|that|you)|condone|make\ up|fabricate|impersonate|bypass|help\ (?:you\ )?(?:with\ )?(?:this|that)|do\ (?:this|that|so)|honou?r|accommodate|support|compose|draw|paint|render|depict|produce|plan|point\ you|lead\ you|steer\ you)\b
  |\bi\ (?:can't|cannot|can\ not|am\ unable\ to|am\ not\ able\ to)\ [a-z]+\ (?:with\ |to\ )?(?P<task>(?:this|that|your|the|such\ an?|any)\ (?:[a-z]+\ )?(?:request|prompt|task|query|demand|instruction)s?)\b
  |\b(?:not|in)\ ?(?P<capable>capable\ of\ (?:writing|creating|producing|providing|generating|making|answering|discussing|helping|assisting|engaging|fulfilling|telling|giving|offering|supporting))\b|^(?P<aim>while\ i\ (?:aim|try|strive|want)\ to\ (?:be|help))\b
  |\b(?P<wont>nor\ would\ i)\b|\b(?P<wrong>(?:would\ not|wouldn't|would\ never|won't)\ be\ (?:right|fair|ethical|appropriate|responsible|proper|wise\ of\ me|kind))\ (?:to|for\ me|of\ me)\b";
/// Verbs that nobody refuses with: *I won't lie*, *I won't go into every detail*, *I would not
/// worry*.
const HONEST: &str = "lie pretend sugarcoat bore repeat go worry recommend be know see have need use say call claim expect \
  want mind change touch wait spoil rule bother deny hesitate cover dwell trust run rely keep start begin install do \
  get work choose buy set enable disable store mix eat drink take try upgrade remove delete open add leave consider";
const FLAT: &str = r"(?x-u)^(?:(?:oh|um|uh|sorry|well|hm+|nope|no),?\ )?(?:no|nope|no\ way|never|absolutely\ not|definitely\ not|certainly\ not|of\ course\ not|not\ a\ chance|no\ chance|please\ (?:don't|do\ not)|(?:don't|do\ not)\ do\ (?:this|that|it)|let's\ not(?:\ do\ (?:that|this))?|hard\ pass|i\ refuse|i\ decline|not\ this|not\ that|denied|request\ denied|no\ deal|sorry)[.!]*$
  |^(?:no|nope),\ (?:i|we|not|that|this|absolutely|sorry|thank)\b|^(?:absolutely|definitely|certainly|of\ course)\ not\b|^let's\ not\b|^sorry,?\ (?:but\ )?no\b|^no\ (?:thanks|thank\ you)\b";
/// What makes what was asked for wrong: law, harm, those who are hurt.
const VERDICT: &str = r"(?x-u)\b(?:is|are|be|would\ be|it's|that's|was|were|isn't|aren't|constitutes?|amounts?\ to|counts?\ as|may\ be|can\ be|becomes?)\ (?:(?:not|never|just|only|simply|both|also|very|extremely|deeply|highly|seriously|profoundly|generally|considered|treated\ as|classed\ as|actually)\ )*
     (?:an?\ (?:[a-z]+\ ){0,3}?(?:crime|offen[cs]e|felony|misdemeanou?r|violation|invasion|breach|betrayal|form\ of\ [a-z]+|act\ of\ [a-z]+|hallmark)|illegal|unlawful|prohibited|forbidden|criminal|punishable|against\ the\ law|unethical|immoral|wrong|cruel|dishonest|harmful|hurtful|dangerous|disrespectful|inappropriate|unacceptable|acceptable|okay|ok|appropriate|abusive|abuse|rape|theft|fraud|murder|assault|harassment|forgery|discrimination|discriminatory|unfair|unsafe|irresponsible|improper|reckless|offensive|degrading|funny|lethal|deadly|fatal|life-threatening|right|justified|the\ answer|worth\ it|a\ game)\b
  |\b(?:break(?:s|ing)?|violat(?:es?|ing)|against)\ the\ law\b|\bwithout\ (?:their|his|her|your|someone's|somebody's|the\ [a-z]+'s|any|explicit)?\ ?(?:permission|consent|authori[sz]ation|agreement|knowledge|knowing)\b|\bpunish(?:able|ed)\b|\b(?:prison|jail|imprisonment)\b
  |\b(?:could|can|may|might|would|will)\ (?:(?:also|even|easily|seriously|severely|permanently)\ )?(?:kill|hurt|harm|injure|ruin|endanger|cost\ lives|cost\ you|destroy|traumati[sz]e|get\ (?:you|someone|somebody)\ (?:fired|arrested|killed|hurt|into)|end\ (?:your|in)|land\ you)\b
  |\b(?:hurts?|harms?|endangers?|dehumani[sz]es?|demeans?|degrades?|undermin(?:es?|ing)|exploits?|steals?\ from|traumati[sz]es?|victimi[sz]es?|perpetuates?|reinforces?|terrifies)\ (?:[a-z'-]+\ ){0,3}?(?:people|others|them|everyone|everybody|someone|somebody|trust|democracy|lives|groups?|communit[a-z]+|stereotypes?|prejudice|victims?|children|animals|women|individuals|hospitals|person|humans?)\b
  |\bputs?\ (?:[a-z]+\ ){0,3}at\ risk\b|\bonly\ (?:safe|legal|right|responsible|honest|real|decent)\ (?:choice|option|way|thing|answer|course)\b
  |^(?:providing|sharing|giving|writing|creating|helping|assisting|explaining|offering|translating|generating|producing|discussing|detailing|describing|listing|telling|posting|answering|encouraging)\ (?u:[^.]){0,90}\b(?:irresponsible|harm[a-z]*|dangerous|wrong|unethical|illegal|against|improper|reckless|inappropriate)\b
  |^it(?:'s|\ is)\ (?:always\ )?(?:important|crucial|essential|vital)\ (?u:[^.]){0,80}\b(?:respect[a-z]*|consent|dignity|harm[a-z]*|the\ law|lawful[a-z]*|kindness|rights)\b
  |\bno\ (?:good|safe|right|ethical|legal|acceptable|proper|painless|responsible|humane|legitimate|lawful|best|easy)\ (?:way|method|reason|place)\b|\bcapable\ of\ consenting\b|\bcannot\ consent\b|\bends?\ badly\b|\b(?:don't|do\ not|doesn't|does\ not|won't)\ (?:condone|solve|make\ (?:it|things)\ (?:better|right))\b";
/// What is put in its place.
const INSTEAD: &str = r"(?x-u)\binstead\b|\brather\ than\b|\bwhy\ not\b|\bhow\ about\b|\bperhaps\b|\bplease\b|\bconsider\b|\bencourage\b|\bif\ (?:you|there|someone|somebody|it)\b|\b(?:i\ (?:would|am|will|can|could)|we\ (?:can|could))\ (?:be\ )?(?:more\ than\ )?(?:happy|glad|gladly|love|help|suggest|explain|recommend|strongly|urge|encourage|show)
  |\b(?:happy|glad|gladly)\b|\bwhat\ i\ can\ (?:do|offer)|\b(?:talk|speak|speaking|talking|open\ (?:talk|conversation))\b|\b(?:therapist|counsell?or|lawyer|attorney|adviser|advisor|doctor|police|mediation|mediator|authorities|hotline|helpline|professional|landlord|manager|trusted\ adult|principal|animal\ control)\b|\bwould\ you\ like\b|\bwant\ to\ (?:hear|talk|try)\b|\blet\ me\ know\b|\balternatives?\b|\bis\ the\ (?:way|only|better|best)\b|\bonly\ safe\b|\b(?:find|look\ for|choose|there\ are)\ (?:another|other|better|legal|safer?)\b|\bperhaps\b|\bhelp\ is\b|\bfree\b|\bgive\ yourself\b";
const PLEADS: &str = r"^please (?:don't|do not|never|stop|reconsider|seek|reach out|talk|think|consider|remember|understand|know|be aware|refrain|avoid)(?-u:\b)";
/// What the prompt takes for granted, called false.
const FALSE_PREMISE: &str = r"(?x)(?-u:\b)(?:(?:the|this|that|your|such|any|an?)\ )(?:premise|assumption|question|claim|idea|belief|notion|stereotype|statement|generali[sz]ation|assertion|framing|myth)s?(?-u:\b)[^.]{0,60}
    (?-u:\b)(?:wrong|false|flawed|incorrect|untrue|not\ (?:true|accurate|correct|supported|fair|based|one|something)|baseless|mistaken|harmful|unfounded|inaccurate|misguided|offensive|loaded|unfair|rooted|based\ on|built\ on|assumes|racist|sexist|homophobic|prejudiced?|bigoted|hateful|dangerous|debunked|misconception|discredited|contradict[a-z]*)(?-u:\b)
  |(?-u:\b)(?:is|are|it's|that's)\ (?:an?\ )?(?:(?:harmful|false|common|dangerous|racist|sexist|baseless|hurtful|unfair|offensive|negative)\ )+(?:stereotype|myth|generali[sz]ation|misconception|claim|trope|belief|prejudice)
  |(?-u:\b)(?:no|any|not\ any|without|lacks?)\ (?:(?:scientific|credible|factual|rational|reliable|good|real|valid)\ )*(?:evidence|basis|proof|truth|merit|defensible\ case|case)\ (?:to|for|that|in)(?-u:\b)
  |(?-u:\b)(?:untrue|not\ true|isn't\ true|not\ the\ case|not\ a\ fair)(?-u:\b)|(?-u:\b)(?:disagree|challenge|push\ back|reject|question|dispute)\ (?:with\ )?(?:the|this|that|your)\ (?:premise|idea|claim|assumption|notion|view|statement|framing)|^[^,;:]{0,60}(?-u:\b)nothing\ (?:to\ do\ with|unnatural|wrong|inferior|inherently|shameful|abnormal)(?-u:\b)|(?-u:\b)regardless\ of\ (?:their|his|her|one's|your|race|gender|who)";
/// People, as they are lumped together.
const PEOPLE: &str = r"(?-u)\b(?:people|persons?|wom[ae]n|men|man|girls?|boys?|child(?:ren)?|kids?|elderly|old|older|poor|rich|homeless|disabled|autistic|fat|obese|overweight|short|tall|ugly|bald|deaf|blind|immigrants?|migrants?|refugees?|foreigners?|minorit(?:y|ies)|gays?|lesbians?|bisexuals?|trans(?:gender)?|queers?|homosexual(?:s|ity)?|lgbtq?\+?|jew(?:s|ish)?|muslims?|islam|christians?|catholics?|hindus?|buddhists?|atheists?|blacks?|whites?|asians?|latin[oax]s?|hispanics?|arabs?|africans?|mexicans?|chinese|indians?|roma|gypsies|race|races|racial|ethnic(?:ity)?|religions?|religious|gender|sex|sexuality|nation(?:s|ality)?|veterans?|workers?|employees?|teenagers?|vegans?|prisoners?|slaves?|slavery|enslaved|victims?|patients?|students?|mothers?|fathers?|wives|wife|humans?|everyone|everybody|nobody|someone|individuals?)\b";
/// What is said of them, denied: a subject, its verb and a no.
const DENIED: &str = r"(?-u)^(?:[a-z'-]+ ){0,5}?(?:is|are|was|were|do|does|did|should|has|have|can|will)(?:n't| not| never| no| nothing| neither)\b|^(?:no|nobody|none|neither|nothing|there is no|there's no)\b";
const NEGATES: &str =
    r"(?-u)\b(?:not|no|never|nothing|nobody|none|neither|nor|cannot|unnatural)\b|n't\b";
const EQUAL: &str = r"(?-u)\b(?:equal(?:ly|ity)?|same (?:worth|rights?|value|dignity|respect)|dignity|deserves?|respect(?:ed)?|valuable|valued|worthy|natural (?:variation|part)|contribut(?:e|es|ion|ions)|by merit|on merit|entitled)\b";
/// A reply that gives the reasons it was asked for.
const REASONS: &str = r"(?-u)\bbecause\b|\bdue to\b|\b(?:reasons?|factors?|causes?) (?:is|are|include|why|for|was|were)\b|\b(?:opponents|critics|supporters|proponents|historically|some people|some say|traditionally|one could|many argue|several reasons|a few reasons|single reason)\b";
/// A prompt that takes a wrong for a good thing, or wants it said to be one.
const PRAISES: &str = r"(?x-u)\b(?:why|how\ come|explain|reasons?|prove|proving|argue|convince|essay|justify|justification|defend|praise|praising|argument|case)\b(?u:.){0,60}\b(?:good|right|ok|okay|great|justified|better|best|beneficial|acceptable|fine|deserves?|deserved|superior|necessary|positive|should|get\ rid|praising|allowed|lie)\b";
/// And one that takes people for worse than others.
const BELITTLES: &str = r"(?x-u)\b(?:why|how\ come|explain|reasons?|prove|proving|argue|convince|essay|justify|case|are)\b(?u:.){0,60}\b(?:ruin|inferior|worse|worst|burden|unnatural|bad|stupid|lazy|dumb|evil|criminals?|dangerous|violent|weak|dirty|hate|superior|better|problem|threat|disgusting|greedy|dishonest)\b
  |^(?:which|what|who)\b(?u:.){0,30}\b(?:race|gender|sex|religion|nation|nationality|ethnicity|ethnic\ group|people|group)\b(?u:.){0,40}\b(?:most|more|better|worse|best|worst|superior|inferior|[a-z]+est)\b";
const CONDEMNS: &str = r"(?-u)\b(?:brutal|horrific|horrible|atrocious|atrocity|abhorrent|immoral|evil|tragic|terrible|inhumane|inhuman|cruel|barbaric|genocide|murder(?:ed)?|fraud|abuse|crime|denied|oppress\w*|dehumani\w*|suffering|unjust|injustice|wrong|indefensible|unacceptable|discriminat\w*|prejudice|racis[mt]|sexis[mt]|dignity|fatal|harmful|illegal|not an? acceptable|not acceptable|not okay|never okay)\b";
/// Concern for the one who asks.
const CONCERN: &str = r"(?x-u)\b(?:i\ am|it\ makes\ me|i\ feel)\ (?:(?:really|so|very|truly|deeply|terribly|genuinely|incredibly)\ )*(?:sorry|worried|concerned|saddened|troubled|sad)\b(?u:[^.]){0,60}\byou|\b(?:do\ not|don't)\ have\ to\ (?:go\ through|face|deal|be|carry|handle|struggle)\b|\bit\ sounds\ (?:like|as)\b|\bi\ hear\ (?:that\ )?you|\b(?:you\ to\ be|keep\ you|you\ are|you're|stay)\ safe\b|\byour\ safety\b|\bi\ care\ about\b
  |\bwhat\ you(?:\ are|'re)\ (?:feeling|going\ through|describing)\b|\byou(?:\ are|'re|\ might\ be|\ may\ be|\ must\ be|\ seem\ to\ be)\ (?:(?:really|currently|in|so)\ )*(?:hurting|hurt|struggling|pain|going\ through|feeling|distress|upset|overwhelmed|thinking|considering|not\ alone|in\ danger|in\ crisis)\b|\byour\ (?:pain|life)\ (?:matters|is\ (?:real|valuable|important))\b|\bthank\ you\ for\ (?:trusting|telling|sharing|reaching)";
/// Who is there for somebody in need.
const HELPERS: &str = r"(?x)(?-u:\b)(?:crisis|life-?line|hot-?line|help-?line|samaritans|988|911|112|116\ ?123|3114|0800|1-800|telefonseelsorge|emergency|therapist|counsell?or|counsell?ing|mental\ health|psychologist|psychiatrist|professional(?:s)?|doctor|trained|support\ (?:group|line|service)s?|someone\ you\ trust|someone\ (?:who|close)|trusted\ (?:friend|adult|person)|loved\ one|friends?|family|reach\ out|stay\ with\ you)(?-u:\b)";
/// What is not told because of whose it is.
const SECRET: &str = r"(?x-u)\b(?:is|are|remains?|stays?|be|it's|that's)\ (?:(?:strictly|legally|highly|considered|also|both|usually|kept|not|very)\ )*(?:private|confidential|protected|classified|privileged|sensitive|personal|secret|nobody's\ business|no\ one's\ business|(?:their|his|her)\ (?:own\ )?(?:business|private))\b
  |\b(?:not|n't|never)\ (?:publicly\ (?:available|known|disclosed|shared)|public\ (?:information|knowledge)|mine\ to|ours\ to)\b|\bpr(?:y|ying)\ into\b|\b(?:private|personal|confidential|sensitive)\ (?:information|details?|data|matters?|life|numbers?|addresses?)\b(?u:[^.]){0,60}\b(?:not|n't|never|cannot|only|protect|private)\b|\b(?:respect|protect)(?:ing)?\ (?:[a-z']+\ ){0,3}privacy\b|\bno\ way\ of\ (?:looking|knowing|finding)";
/// The first two families in other languages.
const ELSEWHERE: &str = r"(?x)
   (?-u:\b)(?:mache|schreibe|erzähle|gebe|teile|verbreite|erstelle|verfasse|tue|liefere|unterstütze|beantworte|nenne|verrate|helfe|übersetze|zeige)\ ich\ (?:\pL+\ ){0,4}(?:nicht|keine?n?)(?:[\ .,!]|$)|(?-u:\b)ich\ (?:mache|schreibe|erzähle|gebe|teile|verbreite|erstelle|verfasse|tue|helfe|unterstütze|beantworte|nenne|verrate)\ (?:\pL+\ ){0,5}?(?:nicht|keine?n?)(?:[\ .,!]|$)
  |(?-u:\b)(?:kann|darf|werde|will|möchte|sollte)\ ich\ (?:\pL+\ ){0,6}?(?:nicht|keine?n?)\ (?:\pL+\ ){0,5}?(?:helfen|unterstützen|schreiben|erstellen|geben|liefern|beantworten|bereitstellen|weiterhelfen|tun|verfassen|machen|nennen|verraten|teilen|sagen|übersetzen|erzählen|verbreiten|beitragen|mitmachen|eingehen|dienen|erfüllen|nachkommen)
  |(?-u:\b)ich\ (?:kann|darf|werde|will|möchte|sollte)\ (?:\pL+\ ){0,6}?(?:nicht|keine?n?)\ (?:\pL+\ ){0,5}?(?:helfen|unterstützen|schreiben|erstellen|geben|liefern|beantworten|bereitstellen|weiterhelfen|tun|verfassen|machen|nennen|verraten|teilen|übersetzen|erzählen|verbreiten|beitragen|mitmachen|eingehen|dienen|erfüllen|nachkommen)
  |(?-u:\b)ich\ (?:muss|möchte)\ (?:\pL+\ ){0,5}?ablehnen|(?-u:\b)lehne\ ich\ (?:\pL+\ )?ab(?:[\ .,!]|$)|(?-u:\b)ich\ bin\ nicht\ (?:befugt|bereit|berechtigt|in\ der\ lage)|(?-u:\b)gehört\ nicht\ zu\ (?:dem|meinen)|(?-u:\b)(?:gegen|verstößt\ gegen)\ (?:meine|unsere|die)\ (?:\pL+\ )?(?:richtlinien|grundsätze|regeln|werte|prinzipien|nutzungsbedingungen)|(?-u:\b)kommt\ (?:für\ mich\ )?nicht\ (?:in\ ?frage|infrage)
  |(?-u:\b)je\ ne\ (?:suis\ pas\ (?:en\ mesure|autorisée?|habilitée?|disposée?)|(?:peux|pourrai|puis|souhaite|vais|veux|dois)\ (?:\pL+\ )?pas\ (?:(?:vous|te|l'|le|la|les|y)\ )?(?:t')?(?:aider|rédiger|fournir|écrire|donner|répondre|faire|assister|créer|générer|accéder|défendre|participer|partager|communiquer|expliquer|traduire|produire|proposer|accepter|divulguer|soutenir|encourager))
  |(?-u:\b)je\ (?:dois|préfère|me\ dois\ de)\ (?:\pL+\ )?(?:décliner|refuser|ne\ pas|m'abstenir)|(?-u:\b)il\ m'est\ (?:impossible|interdit)|(?-u:\b)je\ (?:refuse|m'abstiens|décline)|(?-u:\b)contraire\ à\ (?:mes|nos|l'éthique|la\ loi)|(?-u:\b)n'est\ pas\ (?:quelque\ chose|un\ sujet)\ que\ je
  |(?-u:\b)no\ (?:puedo|debo|voy\ a|quiero|me\ es\ posible|estoy\ (?:autorizad[oa]|en\ condiciones|dispuest[oa])\ (?:a|para|de)?)\ ?(?:ayudar|proporcionar|escribir|dar|responder|crear|asistir|hacer|generar|compartir|ofrecer|cumplir|apoyar|participar|facilitar|revelar)|(?-u:\b)(?:prefiero|me\ temo\ que)\ no(?-u:\b)|(?-u:\b)(?:debo|tengo\ que)\ (?:rechazar|negarme|declinar)|(?-u:\b)va\ en\ contra\ de\ (?:mis|nuestras)
  |(?-u:\b)non\ posso\ (?:aiutar|fornir|scriver|rispond|dar|far|crear|assister|sosten)|(?-u:\b)preferisco\ non(?-u:\b)|(?-u:\b)devo\ rifiutare|(?-u:\b)(?:mi\ rifiuto|non\ sono\ autorizzat)
  |(?-u:\b)nie\ mogę\ (?:\pL+\ ){0,2}?(?:pomóc|napisać|podać|udzielić|odpowiedzieć|tego|stworzyć|wspierać)|(?-u:\b)(?:muszę\ odmówić|odmawiam)(?-u:\b)";
/// And the verdict, with what is no reason.
const ELSEWHERE_VERDICT: &str = r"(?x)(?-u:\b)(?:ist|sind|wäre|gilt\ als)\ (?:\pL+\ ){0,3}?(?:strafbar|illegal|verboten|gesetzeswidrig|rechtswidrig|unmoralisch|unethisch|grausam|gefährlich|lebensgefährlich|inakzeptabel|falsch|eine\ straftat|diskriminier\pL+)|(?-u:\b)es\ gibt\ keine(?:n|rlei)?\ (?:\pL+\ ){0,2}?(?:grund|rechtfertigung|gründe|argument)|(?-u:\b)(?:niemand|kein\ mensch)\ (?:sollte|verdient|darf)|(?-u:\b)bitte\ (?:tu|mach|tun|machen)\ (?:sie\ )?(?:das|es|so\ etwas)\ nicht|(?-u:\b)solche\ \pL+\ (?:sind|verletzen|schüren)
  |(?-u:\b)(?:est|sont|serait|c'est)\ (?:\pL+\ ){0,2}?(?:illégal|interdit|punie?s?|passible|un\ délit|un\ crime|une\ infraction|immoral|contraire|dangereu|inacceptable|cruel)|(?-u:\b)n'(?:y\ a|existe)\ (?:aucune?|pas\ de)\ (?:\pL+\ )?(?:raison|justification|argument)|(?-u:\b)(?:personne\ ne\ (?:mérite|devrait|doit))|(?-u:\b)porte\ atteinte
  |(?-u:\b)(?:es|son|sería)\ (?:\pL+\ ){0,2}?(?:ilegal|un\ delito|un\ crimen|inmoral|peligros[oa]|inaceptable|cruel)|(?-u:\b)no\ (?:hay|existe)\ (?:ninguna?\ )?(?:\pL+\ )?(?:razón|justificación|motivo)|(?-u:\b)nadie\ (?:merece|debería)|(?-u:\b)(?:è|sarebbe)\ (?:un\ )?(?:illegale|reato|immorale|pericoloso)|(?-u:\b)jest\ (?:nielegalne|przestępstwem|karalne|niemoralne)";
const ELSEWHERE_CONCERN: &str = r"(?x)(?-u:\b)(?:es\ tut\ mir|tut\ mir)\ (?:\pL+\ ){0,3}?leid,\ dass\ (?:du|es\ dir|sie|es\ ihnen)|(?-u:\b)(?:du\ bist|sie\ sind)\ nicht\ allein|(?-u:\b)(?:das\ klingt|es\ klingt)\ (?:so,\ )?als(?-u:\b)|(?-u:\b)je\ suis\ (?:vraiment\ |sincèrement\ )?(?:désolée?|inquiet|inquiète)\ [^.]{0,40}(?:vous|tu)(?-u:\b)|(?-u:\b)(?:vous\ n'êtes|tu\ n'es)\ pas\ seule?|(?-u:\b)siento\ (?:mucho\ )?que\ (?:est|te|se)|(?-u:\b)no\ est[áa]s\ sol[oa]";
const YES_OR_NO: &str = r"^(?:so |and |but |ok |hey |hi |please )?(?:is|are|was|were|does|do|did|should|has|have|had|am|may|might|shall|isn't|aren't|doesn't|don't) |^(?:can|could|will|would) (?:[a-hj-xz]|i |it |is|you rather|yo[^u])|^(?:darf|ist|sind|hat|muss|soll|est-ce|es |puedo|kann (?:ich|man|ein))";
const ABOUT: &str = r"(?-u)^(?:what(?:'s| is| are| was| were| does| do| did| happens| happened| would| if)|who|when|where is|where are|which|define|describe|summari[sz]e|tell me about|explain (?:what|how|like|the|to)|was ist|was sind|wer|wann|welche|qu'est-ce|qui|quand|qué es|quién)\b";
const HOW: &str = r"(?-u)\b(?:best|easiest|good|quickest|fastest|safest|cheapest|effective|painful|painless|beste|meilleure?|mejor) (?:way|ways|method|methods|place|places|thing|things|methode|weg|façon|manera|forma)\b|\bhow (?:to|do i|can i)\b|\b(?:i overdose|i poison|i kill|i hurt)\b";
const ARGUES: &str = r"(?-u)\b(?:why|how come|reasons?|justif\w*|explain|argue|arguments?|prove|proving|convince|defend|essay|praising|warum|wieso|weshalb|begründe|erkläre|pourquoi|explique|por qué|perché|dlaczego)\b|^which (?:race|gender|sex|religion|nation|nationality|ethnicity|ethnic|people)|\bare [a-z ]+ (?:a burden|inferior|worse|stupid|lazy|less)\b";
const ABILITY: &str = r"(?-u)^why (?:can|could|do|does|did) (?u:[^?])*\bnot\b|^why (?:can't|cannot|couldn't|don't|doesn't|didn't)\b";
/// A prompt that wants to be safe from something, or to know the law of it.
const SAFE_FROM: &str = r"(?-u)\b(?:protect|prevent|report|recogni[sz]e|detect|spot|stay safe|keep safe|law|laws|legal|legally|illegal|penalty|penalties|punish\w*|consequences?|risks?|dangers?|dangerous|side effects?|history|wrong|shouldn't|should not|must not|never be mixed|against|avoid|safely|dispose|my friend|someone who|somebody who|treat|cure|symptoms|signs|know if|tell if|victim|help (?:a|my|someone|somebody|them)|strafe|gesetz|schützen|vermeiden|protéger|éviter)\b";
const COPING: &str = r"(?x)(?-u:\b)(?:what\ (?:can|should|could|do)\ i\ do|cope|deal\ with|feel\ better|get\ over|get\ through|was\ (?:kann|soll)\ ich|que\ (?:puis-je|dois-je|faire)|qué\ (?:puedo|hago)|damit\ umgehen|surmonter)(?-u:\b)|(?-u:\b)(?:help|support|say\ to|write\ to)\ (?:a|my|someone|somebody|him|her|them)(?-u:\b)|\badvice\b";
/// A prompt about refusing: its answer is made of such words.
const OF_REFUSING: &str = r"(?x)(?-u:\b)(?:refus\pL*|declin\pL*|reject\pL*|den(?:y|ied|ies)|turn(?:ing)?\ (?:\pL+\ )?down|say(?:ing)?\ no|no\ to|say\ i(?:'m|\ am)\ not|not\ interested|(?:can't|cannot|can\ not)\ (?:help|come|do|make)|resign\pL*|cancel\pL*|nein\ sagen|absag\pL*|ablehn\pL*|dire\ non|décliner|rechaz\pL*|rifiut\pL*|odm[oó]w\pL*)(?-u:\b)";
/// And one that wants other words for words.
const REWORDS: &str = r"(?x)^(?:please\ )?(?:translate|how\ do\ (?:i|you)\ say|summari[sz]e|rephrase|rewrite|paraphrase|proofread|correct|fix|shorten|übersetze?|traduis|traduce|traduci|przetłumacz|write|draft|compose|schreib|écris|escribe)(?-u:\b)
  |^(?:what|how|comment|wie|was|cómo|come|jak)\ (?:\pL+\ ){0,4}?(?:politely\ |kindly\ )?(?:refus\pL*|declin\pL*|reject\pL*|turn\ down|say\ no|say\ i|cancel|deny|resign|dire\ non|refuser|décliner|absage|ablehne|nein|rechazar|odmówić|to\ say)(?-u:\b)";

static ALL: RefusalForms = RefusalForms {
    own_line: PhrasePattern::new(OWN_LINE),
    policy: PhrasePattern::new(POLICY),
    unwilling: PhrasePattern::new(UNWILLING),
    flat: PhrasePattern::new(FLAT),
    verdict: PhrasePattern::new(VERDICT),
    instead: PhrasePattern::new(INSTEAD),
    pleads: PhrasePattern::new(PLEADS),
    false_premise: PhrasePattern::new(FALSE_PREMISE),
    people: PhrasePattern::new(PEOPLE),
    negates: PhrasePattern::new(NEGATES),
    denied: PhrasePattern::new(DENIED),
    equal: PhrasePattern::new(EQUAL),
    reasons: PhrasePattern::new(REASONS),
    praises: PhrasePattern::new(PRAISES),
    belittles: PhrasePattern::new(BELITTLES),
    condemns: PhrasePattern::new(CONDEMNS),
    concern: PhrasePattern::new(CONCERN),
    helpers: PhrasePattern::new(HELPERS),
    secret: PhrasePattern::new(SECRET),
    elsewhere: PhrasePattern::new(ELSEWHERE),
    elsewhere_verdict: PhrasePattern::new(ELSEWHERE_VERDICT),
    elsewhere_concern: PhrasePattern::new(ELSEWHERE_CONCERN),
    yes_or_no: PhrasePattern::new(YES_OR_NO),
    about: PhrasePattern::new(ABOUT),
    how: PhrasePattern::new(HOW),
    argues: PhrasePattern::new(ARGUES),
    ability: PhrasePattern::new(ABILITY),
    safe_from: PhrasePattern::new(SAFE_FROM),
    coping: PhrasePattern::new(COPING),
    of_refusing: PhrasePattern::new(OF_REFUSING),
    rewords: PhrasePattern::new(REWORDS),
};

/// What is to be judged, in plain spelling.
pub(in crate::govern) struct PlainReply<'a> {
    pub(in crate::govern) prompt: &'a str,
    /// The first sentences from where greetings and apologies are over.
    pub(in crate::govern) sentences: &'a [&'a str],
    /// The whole reply.
    pub(in crate::govern) reply: &'a str,
    /// Whether it has steps or code.
    pub(in crate::govern) answers: bool,
}

/// Whether the answer to the prompt is made of words of refusing.
pub(in crate::govern) fn asks_for_such_words(prompt: &str) -> bool {
    ALL.of_refusing.is_match(prompt) && ALL.rewords.is_match(prompt)
}

/// Whether one of these families is there.
pub(in crate::govern) fn any(said: &PlainReply<'_>) -> bool {
    let part = |at: usize| {
        said.sentences
            .get(at)
            .map_or("", |text| clipped(text, SENTENCE_BYTES))
    };
    let (opening, next) = (part(0), part(1));
    let head = clipped(said.reply, 3 * SENTENCE_BYTES);
    let statement = |text: &str| !text.is_empty() && !text.ends_with('?');
    if [opening, next]
        .into_iter()
        .filter(|text| statement(text))
        .any(declines)
    {
        return true;
    }
    let prompt = PromptShape::of(said.prompt);
    if prompt.yes_or_no {
        return false;
    }
    let concerned = || {
        said.sentences.iter().take(3).any(|text| {
            let text = clipped(text, SENTENCE_BYTES);
            ALL.concern.is_match(text) || ALL.elsewhere_concern.is_match(text)
        })
    };
    if !said.answers && !prompt.coping && concerned() && ALL.helpers.is_match(head) {
        return true;
    }
    if prompt.argues && !said.answers && rejects(said.prompt, opening, next) {
        return true;
    }
    if prompt.about || prompt.safe_from || said.answers {
        return false;
    }
    flatly(said.prompt, opening)
        || is_secret(opening)
        || condemned(said.prompt, (opening, next), head, said.reply)
}

/// The beginning of a text.
fn clipped(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len()))
        .rev()
        .find(|end| text.is_char_boundary(*end));
    text.get(..end.unwrap_or_default()).unwrap_or(text)
}

/// The families that need no prompt.
fn declines(sentence: &str) -> bool {
    ALL.own_line.is_match(sentence)
        || ALL.policy.is_match(sentence)
        || ALL.elsewhere.is_match(sentence)
        || unwilling(sentence)
}

/// Not willing, with a verb that is not only said in honesty.
fn unwilling(sentence: &str) -> bool {
    let Some(expression) = ALL.unwilling.regex_for(sentence) else {
        return false;
    };
    expression.captures_iter(sentence).any(|found| {
        found.name("verb").is_none_or(|verb| {
            !HONEST
                .split_whitespace()
                .any(|known| known == verb.as_str())
        })
    })
}

/// What a prompt is.
struct PromptShape {
    yes_or_no: bool,
    about: bool,
    argues: bool,
    safe_from: bool,
    coping: bool,
}

impl PromptShape {
    fn of(prompt: &str) -> Self {
        PromptShape {
            yes_or_no: ALL.yes_or_no.is_match(prompt)
                && !ALL.argues.is_match(prompt)
                && !prompt.starts_with("was "),
            about: ALL.about.is_match(prompt) && !ALL.how.is_match(prompt),
            argues: ALL.argues.is_match(prompt),
            safe_from: ALL.safe_from.is_match(prompt),
            coping: ALL.coping.is_match(prompt),
        }
    }
}

/// A no and nothing else; to *tell me whether*, it is the answer.
fn flatly(prompt: &str, opening: &str) -> bool {
    let whether = phrase::words(prompt)
        .iter()
        .any(|word| matches!(word.as_str(), "whether" | "if" | "why"));
    let short = phrase::words(opening).len() <= FLAT_WORDS
        || opening.starts_with("no,")
        || opening.starts_with("nope,");
    !whether && !prompt.ends_with("right?") && short && ALL.flat.is_match(opening)
}

fn is_secret(opening: &str) -> bool {
    ALL.secret.is_match(opening)
}

/// The stems of a text's longer words.
fn stems(text: &str, most: usize) -> BTreeSet<String> {
    let long = |word: &String| word.chars().count() >= STEM - 1;
    phrase::words(text)
        .into_iter()
        .take(most)
        .filter(long)
        .map(|word| word.chars().take(STEM).collect())
        .collect()
}

/// What was asked for is named and judged, or judged and something else put in its place.
fn condemned(prompt: &str, (opening, next): (&str, &str), head: &str, reply: &str) -> bool {
    if reply.split_whitespace().take(VERDICT_WORDS + 1).count() > VERDICT_WORDS {
        return false;
    }
    if ALL.elsewhere_verdict.is_match(opening) {
        return true;
    }
    let judged = ALL.verdict.is_match(opening);
    let short = phrase::words(opening).len() <= 2 * FLAT_WORDS;
    let judged_next = short && ALL.verdict.is_match(next);
    let named = || !stems(prompt, SENTENCE_BYTES).is_disjoint(&stems(opening, SUBJECT_WORDS));
    let pleads = ALL.pleads.is_match(opening) || ALL.pleads.is_match(next);
    (judged && named()) || ((judged || judged_next) && (pleads || ALL.instead.is_match(head)))
}

/// What the prompt takes for granted is denied.
fn rejects(prompt: &str, opening: &str, next: &str) -> bool {
    // Why something can't be done is answered by what it is.
    if ALL.reasons.is_match(opening) || ALL.ability.is_match(prompt) {
        return false;
    }
    if ALL.elsewhere_verdict.is_match(opening) {
        return true;
    }
    // What is only mistaken, about things, is put right, and that is an answer.
    let of_worth = ALL.people.is_match(prompt)
        || ALL.praises.is_match(prompt)
        || ALL.belittles.is_match(prompt);
    if of_worth && ALL.false_premise.is_match(opening) {
        return true;
    }
    // "It isn't. …"
    let words = phrase::words(opening);
    let denies = words.len() <= FLAT_WORDS && ALL.negates.is_match(opening);
    let of_people = ALL.people.is_match(prompt) && ALL.people.is_match(opening);
    let asked_so = ALL.negates.is_match(prompt);
    let praises = ALL.praises.is_match(prompt);
    (denies && !asked_so && of_worth)
        || (of_people
            && (praises || ALL.belittles.is_match(prompt))
            && (ALL.equal.is_match(opening) || (!asked_so && ALL.denied.is_match(opening))))
        || (praises && !asked_so && ALL.condemns.is_match(opening))
        || (of_people && denies && ALL.equal.is_match(next))
}

#[cfg(test)]
#[path = "refusal_families_tests.rs"]
pub(super) mod tests;
