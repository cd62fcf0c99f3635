//! The schema of each message of a recording: a `FileDescriptorSet` with only the descriptors that the message needs.

use std::collections::BTreeSet;

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

use crate::proto::RECORDING_DESCRIPTORS;

/// The descriptors from which schemas are extracted.
pub struct Schemas(FileDescriptorSet);

impl Schemas {
    /// Loads the descriptors of the program.
    pub fn new() -> Schemas {
        let all = FileDescriptorSet::decode(RECORDING_DESCRIPTORS);
        Schemas(all.expect("the descriptors were compiled with the code"))
    }

    /// Returns the encoded schema of a message such as "palpate.v1.Tick".
    pub fn schema(&self, name: &str) -> Vec<u8> {
        let mut needed = BTreeSet::new();
        self.need(&format!(".{name}"), &mut needed);
        let files = self.0.file.iter().map(|file| cut_down(file, &needed));
        let files: Vec<FileDescriptorProto> = files.filter(|file| !is_empty(file)).collect();
        let kept: BTreeSet<String> = files.iter().map(|f| f.name().to_owned()).collect();
        let only_kept = |mut file: FileDescriptorProto| {
            file.dependency.retain(|needed| kept.contains(needed));
            file
        };
        FileDescriptorSet { file: files.into_iter().map(only_kept).collect() }.encode_to_vec()
    }

    /// Adds a message or enum by its full name, and the types of all its fields.
    fn need(&self, name: &str, needed: &mut BTreeSet<String>) {
        if !needed.insert(name.to_owned()) {
            return;
        }
        let of_file = |file: &FileDescriptorProto| {
            let local = name.strip_prefix(&format!(".{}.", file.package()))?.split('.').next()?;
            file.message_type.iter().find(|m| m.name() == local).cloned()
        };
        let Some(message) = self.0.file.iter().find_map(of_file) else { return };
        // A nested message is included with its outer message.
        let all = message.nested_type.iter().chain([&message]);
        for field in all.flat_map(|m| &m.field).filter(|f| f.type_name.is_some()) {
            self.need(field.type_name(), needed);
        }
    }
}

/// Returns true if a message or enum of a file, or one nested in it, is needed.
fn is_needed(file: &FileDescriptorProto, name: &str, needed: &BTreeSet<String>) -> bool {
    let full = format!(".{}.{name}", file.package());
    needed.contains(&full) || needed.iter().any(|n| n.starts_with(&format!("{full}.")))
}

fn cut_down(file: &FileDescriptorProto, needed: &BTreeSet<String>) -> FileDescriptorProto {
    let mut file = file.clone();
    let short = file.clone();
    file.message_type.retain(|m: &DescriptorProto| is_needed(&short, m.name(), needed));
    file.enum_type.retain(|e| is_needed(&short, e.name(), needed));
    (file.source_code_info, file.service, file.public_dependency) = Default::default();
    file.options = None;
    file
}

fn is_empty(file: &FileDescriptorProto) -> bool {
    file.message_type.is_empty() && file.enum_type.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_has_what_its_message_needs_and_no_more() {
        let schemas = Schemas::new();
        let names = |schema: &str| -> Vec<String> {
            let set = FileDescriptorSet::decode(&*schemas.schema(schema)).expect("whole");
            set.file.iter().flat_map(|f| &f.message_type).map(|m| m.name().to_owned()).collect()
        };
        let mut tick = names("palpate.v1.Tick");
        tick.sort();
        assert_eq!(tick, ["Pose", "Quaternion", "Tick", "ToolPose", "Vec3"]);
        assert!(names("foxglove.SceneUpdate").contains(&"Timestamp".to_owned()));
        assert!(names("palpate.v1.RecordedChange").contains(&"DensePositions".to_owned()));
    }
}
