//! Addresses of object stores, from the setting and the environment.

use std::{io, net::IpAddr, sync::Arc, time::Duration};

#[cfg(feature = "s3")]
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
#[cfg(feature = "azure")]
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
#[cfg(feature = "gcs")]
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use tokio_rustls::rustls::crypto::ring;

/// Address of an object store, and limits of its requests.
#[derive(Clone, Debug)]
pub struct ObjectAddress {
    /// Address in a form of [`SCHEMES`]. Region, endpoint, account and credentials come from the environment: `AWS_*`,
    /// `GOOGLE_*`, `AZURE_*`.
    pub url: String,
    /// Allows plain HTTP also to an endpoint that is not this machine.
    pub allow_http: bool,
    /// Maximum time of a small request; each is made at most three times.
    pub request_max: Duration,
    /// Called at the start of each thread that sends requests.
    pub of_thread: fn(),
}

/// Maximum idle time of a connection: the store closes unused connections, and a request on a closed one is lost.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Forms of an address, with the cargo feature that each needs.
pub const SCHEMES: [(&str, &str); 3] = [
    ("s3://BUCKET/PREFIX", "s3"),
    ("gs://BUCKET/PREFIX", "gcs"),
    ("az://CONTAINER/PREFIX", "azure"),
];

/// Builds the store client from the environment and the address; returns it with the prefix of its keys.
pub(super) fn store(address: &ObjectAddress) -> io::Result<(Arc<dyn ObjectStore>, String)> {
    // The provider of gRPC's TLS. An error means that the process has one already.
    let _ = ring::default_provider().install_default();
    let (scheme, rest) = address.url.split_once("://").unwrap_or_default();
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let store: Option<object_store::Result<Arc<dyn ObjectStore>>> = match scheme {
        _ if bucket.is_empty() => None,
        #[cfg(feature = "s3")]
        "s3" => Some(s3(address, bucket)?.build().map(|store| Arc::new(store) as _)),
        #[cfg(feature = "gcs")]
        "gs" => Some(gcs(address, bucket)?.build().map(|store| Arc::new(store) as _)),
        #[cfg(feature = "azure")]
        "az" => Some(azure(address, bucket)?.build().map(|store| Arc::new(store) as _)),
        _ => None,
    };
    let Some(store) = store else {
        let known = SCHEMES.map(|(way, feature)| format!("{way} (feature {feature})"));
        let words = format!("{:?} is no address as {}", address.url, known.join(", "));
        return Err(refused(words));
    };
    Ok((store.map_err(io::Error::other)?, prefix.to_owned()))
}

fn refused(words: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, words)
}

#[cfg(feature = "s3")]
fn s3(address: &ObjectAddress, bucket: &str) -> io::Result<AmazonS3Builder> {
    let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
    let endpoint = keys.iter().find_map(|key| builder.get_config_value(key));
    let builder = builder.with_client_options(client(address, endpoint.as_deref())?);
    Ok(builder.with_retry(no_retry()).with_conditional_put(S3ConditionalPut::ETagMatch))
}

#[cfg(feature = "gcs")]
fn gcs(address: &ObjectAddress, bucket: &str) -> io::Result<GoogleCloudStorageBuilder> {
    let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
    let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
    Ok(builder.with_client_options(client(address, endpoint.as_deref())?).with_retry(no_retry()))
}

#[cfg(feature = "azure")]
fn azure(address: &ObjectAddress, container: &str) -> io::Result<MicrosoftAzureBuilder> {
    let builder = MicrosoftAzureBuilder::from_env().with_container_name(container);
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    Ok(builder.with_client_options(client(address, endpoint.as_deref())?).with_retry(no_retry()))
}

/// Disables the client's own retries, which ignore the meaning of a lost answer to a conditional put.
fn no_retry() -> RetryConfig {
    RetryConfig { max_retries: 0, ..RetryConfig::default() }
}

/// Returns the options of the HTTP client. `endpoint`: that of the environment, if it names one.
fn client(address: &ObjectAddress, endpoint: Option<&str>) -> io::Result<ClientOptions> {
    let plain = endpoint.and_then(|endpoint| endpoint.strip_prefix("http://"));
    if let Some(host) = plain.filter(|host| !address.allow_http && !is_loopback(host)) {
        let words = "is neither TLS nor on this machine, expected https:// or store.allow_http";
        return Err(refused(format!("the endpoint http://{host} {words}")));
    }
    Ok(ClientOptions::new()
        .with_allow_http(plain.is_some())
        .with_timeout_disabled()
        .with_connect_timeout(address.request_max)
        .with_pool_idle_timeout(IDLE_MAX))
}

fn is_loopback(host: &str) -> bool {
    let host = host.split('/').next().unwrap_or_default();
    // IPv6 addresses have their colons in brackets.
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

    fn of(url: &str) -> ObjectAddress {
        ObjectAddress {
            url: url.to_owned(),
            allow_http: false,
            request_max: Duration::from_secs(1),
            of_thread: || {},
        }
    }

    #[test]
    fn an_address_without_a_bucket_or_of_nothing_known_is_refused() {
        let all = [
            "",
            "s3://",
            "s3:///or",
            "gs:///or",
            "az://",
            "https://bucket/or",
            "bucket/or",
            "gcs://b",
        ];
        for url in all {
            let refused = store(&of(url)).expect_err(url).to_string();
            assert!(refused.contains("gs://BUCKET/PREFIX (feature gcs)"), "{refused}");
        }
    }

    #[test]
    fn an_endpoint_without_tls_is_this_machine_s_or_allowed() {
        let remote = Some("http://store.example:9000");
        let refused = client(&of("s3://scenes"), remote).expect_err("plain").to_string();
        assert!(refused.contains("store.allow_http"), "{refused}");
        let allowed = ObjectAddress { allow_http: true, ..of("s3://scenes") };
        for (address, endpoint) in [
            (&allowed, remote),
            (&of("s3://scenes"), Some("http://127.0.0.1:9000")),
            (&of("s3://scenes"), Some("https://store.example")),
            (&of("s3://scenes"), None),
        ] {
            client(address, endpoint).expect("good");
        }
    }

    #[cfg(feature = "s3")]
    #[test]
    fn a_bucket_of_s3_and_its_prefix_are_told_apart() {
        let (_, prefix) = store(&of("s3://scenes/or/3")).expect("an address");
        assert_eq!(prefix, "or/3");
        let builder = s3(&of("s3://scenes/or/3"), "scenes").expect("an address");
        let bucket = builder.get_config_value(&AmazonS3ConfigKey::Bucket);
        assert_eq!(bucket.as_deref(), Some("scenes"));
    }

    // Only the builders are tested: the stores themselves need an account or credentials of the environment.
    #[cfg(feature = "gcs")]
    #[test]
    fn a_bucket_of_google_is_named() {
        let builder = gcs(&of("gs://scenes/or/3"), "scenes").expect("an address");
        let bucket = builder.get_config_value(&GoogleConfigKey::Bucket);
        assert_eq!(bucket.as_deref(), Some("scenes"));
    }

    #[cfg(feature = "azure")]
    #[test]
    fn a_container_of_azure_is_named() {
        let builder = azure(&of("az://scenes/or/3"), "scenes").expect("an address");
        let container = builder.get_config_value(&AzureConfigKey::ContainerName);
        assert_eq!(container.as_deref(), Some("scenes"));
    }
}
