//! Where an object store is: the setting, and what the environment says.

use std::{io, net::IpAddr, time::Duration};

use object_store::{
    ClientOptions, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut},
};

/// Where an object store is, and how it is asked.
#[derive(Clone, Debug)]
pub struct ObjectAddress {
    /// `s3://BUCKET/PREFIX`. Region, endpoint and credentials are those of the environment (`AWS_*`).
    pub url: String,
    /// Plain HTTP also to an endpoint that is not this machine.
    pub allow_http: bool,
    /// Until a small request is answered; it is made three times at most.
    pub request_max: Duration,
    /// Runs at the start of each thread that asks.
    pub of_thread: fn(),
}

/// A store closes connections that nobody uses, and a request that meets that is lost.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// How the environment and the address say it.
pub(super) fn s3(address: &ObjectAddress) -> io::Result<(AmazonS3Builder, String)> {
    let refused = |words: String| io::Error::new(io::ErrorKind::InvalidInput, words);
    let rest = address.url.strip_prefix("s3://").unwrap_or_default();
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    if bucket.is_empty() {
        return Err(refused(format!("{:?} is no address as s3://BUCKET/PREFIX", address.url)));
    }
    let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let endpoint = keys.iter().find_map(|key| builder.get_config_value(key));
    let plain = endpoint.as_deref().and_then(|endpoint| endpoint.strip_prefix("http://"));
    if let Some(host) = plain.filter(|host| !address.allow_http && !is_loopback(host)) {
        let words = "is neither TLS nor on this machine, expected https:// or store.allow_http";
        return Err(refused(format!("the endpoint http://{host} {words}")));
    }
    // Its own repetitions would not know what a lost answer means for a conditional put.
    let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    let client = ClientOptions::new()
        .with_allow_http(plain.is_some())
        .with_timeout_disabled()
        .with_connect_timeout(address.request_max)
        .with_pool_idle_timeout(IDLE_MAX);
    let builder = builder.with_client_options(client).with_retry(retry);
    let builder = builder.with_conditional_put(S3ConditionalPut::ETagMatch);
    Ok((builder, prefix.to_owned()))
}

fn is_loopback(host: &str) -> bool {
    let host = host.split('/').next().unwrap_or_default();
    // An IPv6 address has its colons in brackets.
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, _)) => name,
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine() {
        for host in
            ["127.0.0.1:9000", "localhost", "localhost:9000/", "[::1]:9000", "127.8.0.1/minio"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in
            ["10.0.0.1:9000", "localhost.example", "[fe80::1]:9000", "127.0.0.1.example", ""]
        {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn an_address_without_a_bucket_is_refused() {
        let of = |url: &str| ObjectAddress {
            url: url.to_owned(),
            allow_http: false,
            request_max: Duration::from_secs(1),
            of_thread: || {},
        };
        for url in ["", "s3://", "s3:///or", "https://bucket/or"] {
            let refused = s3(&of(url)).expect_err(url).to_string();
            assert!(refused.contains("s3://BUCKET/PREFIX"), "{refused}");
        }
        let (_, prefix) = s3(&of("s3://scenes/or/3")).expect("an address");
        assert_eq!(prefix, "or/3");
    }
}
