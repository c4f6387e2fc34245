//! Who may do what? A file of tokens, a line each: `name sha256 scopes [task-prefix]`.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Predictions.
    Predict,
    /// Learning.
    Learn,
    /// Labels of what was predicted.
    Label,
    /// Everything that is shown.
    Read,
    /// Models come and go, tasks are forgotten, snapshots are made and copied.
    Admin,
}

/// All scopes by name.
pub const SCOPES: [(&str, Scope); 5] = [
    ("predict", Scope::Predict),
    ("learn", Scope::Learn),
    ("label", Scope::Label),
    ("read", Scope::Read),
    ("admin", Scope::Admin),
];

impl Scope {
    /// Its name.
    pub fn name(self) -> &'static str {
        SCOPES.iter().find(|(_, scope)| *scope == self).map_or("", |(name, _)| name)
    }
}

/// Who asks, and what for.
#[derive(Debug)]
pub struct Token {
    /// What it is called in logs.
    pub name: String,
    hash: [u8; 32],
    scopes: Vec<Scope>,
    /// What the names of its tasks begin with; empty for all tasks.
    pub prefix: String,
    bucket: Mutex<Bucket>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Token {
    /// Of a server without tokens: it may do everything.
    pub fn anyone() -> Self {
        let scopes = SCOPES.iter().map(|(_, scope)| *scope).collect();
        Self::new("anyone".to_owned(), [0; 32], scopes, String::new())
    }

    fn new(name: String, hash: [u8; 32], scopes: Vec<Scope>, prefix: String) -> Self {
        Self {
            name,
            hash,
            scopes,
            prefix,
            bucket: Mutex::new(Bucket { left: f64::INFINITY, at: Instant::now() }),
        }
    }

    /// Whether it is for this.
    pub fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }

    /// Whether it sees all tasks.
    pub fn sees_all(&self) -> bool {
        self.prefix.is_empty()
    }

    /// Whether it sees a task.
    pub fn sees(&self, task: &str) -> bool {
        task.starts_with(&self.prefix)
    }

    /// Takes one of so many requests a second; false if there is none left.
    pub fn take(&self, per_second: f64) -> bool {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let gained = now.duration_since(bucket.at).as_secs_f64() * per_second;
        bucket.left = (bucket.left + gained).min(per_second.max(1.0));
        bucket.at = now;
        let left = bucket.left >= 1.0;
        bucket.left -= f64::from(u8::from(left));
        left
    }
}

/// All tokens of a server.
#[derive(Debug, Default)]
pub struct Tokens {
    tokens: Vec<Arc<Token>>,
}

/// What is wrong with a file of tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: std::path::PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A line says something else.
    #[error("{}:{line}: {message}; expected name, sha256, scopes and perhaps a task prefix", path.display())]
    Line {
        /// The file.
        path: std::path::PathBuf,
        /// From 1.
        line: usize,
        /// What was found.
        message: String,
    },
}

/// What is wrong with a list of scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope {found:?}; known: predict, learn, label, read, admin")]
pub struct UnknownScope {
    /// The name.
    pub found: String,
}

/// Scopes by their names, separated by commas.
///
/// # Errors
/// When there is no such scope.
pub fn scopes(text: &str) -> Result<Vec<Scope>, UnknownScope> {
    let scope = |name: &str| {
        let known = SCOPES.iter().find(|(known, _)| *known == name);
        known.map(|(_, scope)| *scope).ok_or_else(|| UnknownScope { found: name.to_owned() })
    };
    text.split(',').map(scope).collect()
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Bytes as hexadecimal digits.
pub(crate) struct Hex<'a>(pub(crate) &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// The line of a token in the file.
pub fn line(name: &str, secret: &str, scopes: &[Scope], prefix: &str) -> String {
    let scopes: Vec<&str> = scopes.iter().map(|scope| scope.name()).collect();
    let line = format!("{name} {} {}", Hex(&hash(secret)), scopes.join(","));
    if prefix.is_empty() { line } else { format!("{line} {prefix}") }
}

/// A secret from so many random bytes.
pub fn secret(random: &[u8]) -> String {
    format!("cog_{}", Hex(random))
}

impl Tokens {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, or a line says something else.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TokenError::Io { path: path.to_owned(), source })?;
        Self::parse(&text).map_err(|(line, message)| TokenError::Line {
            path: path.to_owned(),
            line,
            message,
        })
    }

    /// Reads lines; an error has the number of its line.
    ///
    /// # Errors
    /// When a line says something else.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut tokens: Vec<Arc<Token>> = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let fail = |message: String| Err((at + 1, message));
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (name, hash, named, prefix) = match fields[..] {
                [name, hash, scopes] => (name, hash, scopes, ""),
                [name, hash, scopes, prefix] => (name, hash, scopes, prefix),
                _ => return fail(format!("found {} fields", fields.len())),
            };
            let Some(hash) = from_hex(hash) else {
                return fail("the hash is not 64 hexadecimal digits".to_owned());
            };
            let scopes = match scopes(named) {
                Ok(scopes) => scopes,
                Err(error) => return fail(error.to_string()),
            };
            if tokens.iter().any(|token| token.name == name) {
                return fail(format!("the name {name:?} is given twice"));
            }
            tokens.push(Arc::new(Token::new(name.to_owned(), hash, scopes, prefix.to_owned())));
        }
        Ok(Self { tokens })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// The token of a secret. All are looked at, whichever it is.
    pub fn find(&self, secret: &str) -> Option<Arc<Token>> {
        let hash = hash(secret);
        let mut found = None;
        for token in &self.tokens {
            if bool::from(token.hash.ct_eq(&hash)) {
                found = Some(Arc::clone(token));
            }
        }
        found
    }
}

/// A short hash of what a client sends, to know it again.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_back_and_its_secret_found() {
        let secret = secret(&[7; 24]);
        let text = format!("# ours\n\n{}\n", line("mail", &secret, &[Scope::Predict, Scope::Learn], "team/"));
        let tokens = Tokens::parse(&text).unwrap();
        let token = tokens.find(&secret).unwrap();
        assert_eq!((token.name.as_str(), token.prefix.as_str()), ("mail", "team/"));
        assert!(token.may(Scope::Learn) && !token.may(Scope::Admin));
        assert!(token.sees("team/a") && !token.sees("tea") && !token.sees_all());
        assert!(tokens.find("cog_other").is_none() && tokens.find("").is_none());
        assert!(!text.contains(&secret), "the file does not hold secrets");
    }

    #[test]
    fn what_is_no_line_is_told_with_its_place() {
        let hash = "0".repeat(64);
        for (text, place, message) in [
            ("a b".to_owned(), 1, "found 2 fields"),
            (format!("# x\na {} read", &hash[1..]), 2, "the hash is not 64 hexadecimal digits"),
            (
                format!("a {hash} read,write"),
                1,
                "unknown scope \"write\"; known: predict, learn, label, read, admin",
            ),
            (format!("a {hash} read\na {hash} learn"), 2, "the name \"a\" is given twice"),
        ] {
            assert_eq!(Tokens::parse(&text).unwrap_err(), (place, message.to_owned()));
        }
    }

    #[test]
    fn requests_a_second_are_bounded() {
        let token = Token::anyone();
        let taken = (0..100).filter(|_| token.take(10.0)).count();
        assert!((10..=11).contains(&taken), "{taken}");
    }
}
