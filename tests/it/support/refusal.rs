//! Refusals in the form that tests compare.

use tonic::{Code, Status};
use tonic_types::StatusExt;

/// Returns code and subject: the field, `tissue 7`, the limit or the condition in the details.
pub fn refusal(status: &Status) -> (Code, String) {
    let details = status.get_error_details();
    let about = if let Some(bad) = details.bad_request() {
        bad.field_violations[0].field.clone()
    } else if let Some(resource) = details.resource_info() {
        format!("{} {}", resource.resource_type, resource.resource_name)
    } else if let Some(quota) = details.quota_failure() {
        quota.violations[0].subject.clone()
    } else if let Some(condition) = details.precondition_failure() {
        condition.violations[0].subject.clone()
    } else {
        String::new()
    };
    (status.code(), about)
}

/// Checks code and subject, and prints the message if they differ.
pub fn assert_refused<T: std::fmt::Debug>(
    outcome: Result<T, Status>,
    code: Code,
    about: &str,
    case: &str,
) {
    let status = outcome.expect_err(case);
    assert_eq!(refusal(&status), (code, about.to_owned()), "{case}: {}", status.message());
    assert!(!status.message().is_empty(), "{case}");
}
