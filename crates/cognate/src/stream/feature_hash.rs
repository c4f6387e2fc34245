//! Where a named feature lies among 2^b slots, as Vowpal Wabbit has it: stable for ever, since models depend on it.
//!
//! A name that is a number lies at that number, any other at its MurmurHash3 (Austin Appleby, public domain: the 32-bit
//! variant for x86); a namespace moves both by its own hash.

/// Hash of a name in a namespace, whose own hash is `seed`; 0 for none.
pub(crate) fn feature_hash(name: &[u8], seed: u32) -> u32 {
    let name = name.trim_ascii();
    if !name.is_empty() && name.iter().all(u8::is_ascii_digit) {
        let number = name
            .iter()
            .fold(0_u32, |number, digit| number.wrapping_mul(10).wrapping_add(u32::from(digit - b'0')));
        return number.wrapping_add(seed);
    }
    murmur3(name, seed)
}

/// MurmurHash3, 32 bits.
pub(crate) fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    let mix = |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = words.iter().fold(seed, |hash, word| {
        let hash = (hash ^ mix(u32::from_le_bytes(*word))).rotate_left(13);
        hash.wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        hash ^= mix(u32::from_le_bytes(word));
    }
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that the reference implementation is known by.
    #[test]
    fn known_hashes() {
        for (text, seed, hash) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("", 0xffff_ffff, 0x81f1_6f39),
            ("test", 0, 0xba6b_d213),
            ("test", 0x9747_b28c, 0x704b_81dc),
            ("Hello, world!", 0, 0xc036_3e43),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
            ("The quick brown fox jumps over the lazy dog", 0x9747_b28c, 0x2fa8_26cd),
        ] {
            assert_eq!(murmur3(text.as_bytes(), seed), hash, "{text:?}");
        }
    }

    #[test]
    fn numbers_lie_at_their_number() {
        assert_eq!((feature_hash(b"17", 0), feature_hash(b" 17 ", 5)), (17, 22));
        assert_eq!(feature_hash(b"4294967296", 1), 1, "numbers wrap");
        assert_eq!(feature_hash(b"1a", 0), murmur3(b"1a", 0));
    }
}
