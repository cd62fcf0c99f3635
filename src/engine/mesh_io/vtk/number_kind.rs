//! Storage types of the numbers in VTK files.

/// Storage type of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mesh_io) struct NumberKind {
    form: Form,
    n_bytes: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Signed,
    Unsigned,
    Float,
}

/// Order of a number's bytes in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mesh_io) enum ByteOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

pub(super) const BYTE: NumberKind = NumberKind { form: Form::Unsigned, n_bytes: 1 };
pub(super) const INT: NumberKind = NumberKind { form: Form::Signed, n_bytes: 4 };

impl NumberKind {
    /// Type of a name, in any case: of legacy files, such as `unsigned_int`, and of XML files, such as `UInt32`.
    pub(in crate::mesh_io) fn named(name: &str) -> Option<NumberKind> {
        let name = name.to_ascii_lowercase();
        let (form, n_bytes) = match name.strip_prefix("vtktype").unwrap_or(&name) {
            "float" | "float32" => (Form::Float, 4),
            "double" | "float64" => (Form::Float, 8),
            "char" | "signed_char" | "int8" => (Form::Signed, 1),
            "unsigned_char" | "uint8" => (Form::Unsigned, 1),
            "short" | "int16" => (Form::Signed, 2),
            "unsigned_short" | "uint16" => (Form::Unsigned, 2),
            // Legacy files hold a vtkIdType in 4 bytes, although it has 8 in memory.
            "int" | "int32" | "vtkidtype" => (Form::Signed, 4),
            "unsigned_int" | "uint32" => (Form::Unsigned, 4),
            "long" | "int64" => (Form::Signed, 8),
            "unsigned_long" | "uint64" => (Form::Unsigned, 8),
            _ => return None,
        };
        Some(NumberKind { form, n_bytes })
    }

    pub(in crate::mesh_io) fn n_bytes(self) -> usize {
        self.n_bytes
    }

    /// Decodes an integer, or the bits of a number with a fraction.
    pub(in crate::mesh_io) fn whole(self, bytes: &[u8], order: ByteOrder) -> i128 {
        let unsigned = i128::from(order.unsigned(&bytes[..self.n_bytes]));
        let is_negative = self.form == Form::Signed && unsigned >> (8 * self.n_bytes - 1) == 1;
        if is_negative { unsigned - (1 << (8 * self.n_bytes)) } else { unsigned }
    }

    /// Decodes a coordinate, rounded to f32.
    pub(in crate::mesh_io) fn coordinate(self, bytes: &[u8], order: ByteOrder) -> f32 {
        let bits = || order.unsigned(&bytes[..self.n_bytes]);
        match (self.form, self.n_bytes) {
            (Form::Float, 4) => f32::from_bits(bits() as u32),
            (Form::Float, _) => f64::from_bits(bits()) as f32,
            _ => self.whole(bytes, order) as f32,
        }
    }
}

impl ByteOrder {
    /// Decodes an integer of at most eight bytes.
    pub(in crate::mesh_io) fn unsigned(self, bytes: &[u8]) -> u64 {
        debug_assert!(bytes.len() <= 8);
        let join = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self {
            ByteOrder::Big => bytes.iter().fold(0, join),
            ByteOrder::Little => bytes.iter().rev().fold(0, join),
        }
    }
}
