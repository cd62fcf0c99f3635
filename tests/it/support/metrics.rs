//! Metrics and other pages of a server over HTTP.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Returns the status line and the body of a page.
pub async fn get(address: SocketAddr, path: &str) -> (String, String) {
    let (head, body) = get_whole(address, path).await;
    (head.lines().next().expect("a status").to_owned(), body)
}

/// Returns the head and the body of a page.
pub async fn get_whole(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("UTF-8");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// Returns the value of a scene's series, if it has one.
pub fn of_scene(text: &str, family: &str, scene: &str) -> Option<f64> {
    let series = format!("{family}{{scene=\"{scene}\",");
    let line = text.lines().find(|line| line.starts_with(&series))?;
    Some(line.rsplit(' ').next().expect("a value").parse().expect("a number"))
}

/// Returns the value of one series.
pub fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find(|l| l.strip_prefix(series).is_some_and(|r| r.starts_with(' ')));
    let line = line.unwrap_or_else(|| panic!("no {series} in\n{text}"));
    line.rsplit(' ').next().expect("a value").parse().expect("a number")
}
