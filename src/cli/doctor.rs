pub async fn run(_json: bool) -> Result<u8, super::wire::WireError> {
    Ok(0)
}
