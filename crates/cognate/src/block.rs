//! Large arrays in saved state: little-endian bytes instead of one number after the other.

use bytemuck::Pod;
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_bytes::{ByteBuf, Bytes};

/// MessagePack counts the bytes of a block in 32 bits, and its writer does not check; larger arrays are cut.
const LARGEST_PIECE: usize = 1 << 30;

/// An array of numbers, saved as a sequence of byte blocks of at most 1 GiB.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Block<T>(pub(crate) Vec<T>);

/// A number with a fixed little-endian form.
pub(crate) trait Number: Pod {
    /// Refuses a number that no model holds.
    fn check<E: serde::de::Error>(&self) -> Result<(), E> {
        Ok(())
    }

    /// Swaps between the machine's order and little-endian; nothing on most machines.
    fn little_endian(self) -> Self;
}

impl Number for u32 {
    fn little_endian(self) -> Self {
        self.to_le()
    }
}

/// Whole numbers of 64 bits are counts.
impl Number for u64 {
    fn check<E: serde::de::Error>(&self) -> Result<(), E> {
        crate::count::check(*self).map(drop)
    }

    fn little_endian(self) -> Self {
        self.to_le()
    }
}

impl Number for f64 {
    fn little_endian(self) -> Self {
        Self::from_bits(self.to_bits().to_le())
    }
}

impl<T> Block<T> {
    /// Takes out row `at` of rows of `width` numbers each, where there are so many.
    pub(crate) fn remove_row(&mut self, at: usize, width: usize) {
        let (start, end) = (at * width, (at + 1) * width);
        if end <= self.0.len() {
            self.0.drain(start..end);
        }
    }
}

impl<T: Number> Serialize for Block<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let swapped: Vec<T>;
        let numbers = if cfg!(target_endian = "little") {
            &self.0
        } else {
            swapped = self.0.iter().map(|number| number.little_endian()).collect();
            &swapped
        };
        let bytes: &[u8] = bytemuck::cast_slice(numbers);
        let mut pieces = serializer.serialize_seq(Some(bytes.len().div_ceil(LARGEST_PIECE)))?;
        for piece in bytes.chunks(LARGEST_PIECE) {
            pieces.serialize_element(Bytes::new(piece))?;
        }
        pieces.end()
    }
}

impl<'de, T: Number> Deserialize<'de> for Block<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pieces<T>(std::marker::PhantomData<T>);
        impl<'de, T: Number> Visitor<'de> for Pieces<T> {
            type Value = Block<T>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("a sequence of byte blocks")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut pieces: A) -> Result<Self::Value, A::Error> {
                let mut numbers = Vec::new();
                while let Some(piece) = pieces.next_element::<ByteBuf>()? {
                    if piece.len() % size_of::<T>() != 0 {
                        return Err(A::Error::custom("a byte block is not a whole number of entries"));
                    }
                    let entries = piece.chunks_exact(size_of::<T>());
                    numbers.extend(
                        entries.map(|entry| bytemuck::pod_read_unaligned::<T>(entry).little_endian()),
                    );
                }
                numbers.iter().try_for_each(T::check)?;
                Ok(Block(numbers))
            }
        }
        deserializer.deserialize_seq(Pieces(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_comes_back_and_is_little_endian_bytes() {
        let block = Block(vec![1.5_f64, -0.0, f64::MIN_POSITIVE]);
        let bytes = rmp_serde::to_vec_named(&block).unwrap();
        // A sequence of one block of 24 bytes; 1.5 is 3ff8000000000000.
        assert_eq!(bytes[..3], [0x91, 0xc4, 24]);
        assert_eq!(bytes[3..11], [0, 0, 0, 0, 0, 0, 0xf8, 0x3f]);
        let back: Block<f64> = rmp_serde::from_slice(&bytes).unwrap();
        assert_eq!(
            back.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
            block.0.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        );
        assert_eq!(rmp_serde::to_vec_named(&Block::<u32>(vec![])).unwrap(), [0x90]);
        assert!(rmp_serde::from_slice::<Block<u64>>(&[0x91, 0xc4, 3, 1, 2, 3]).is_err());
    }
}
