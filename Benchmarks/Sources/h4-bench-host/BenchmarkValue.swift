/// The value of the dynamic characteristics: two counters in little-endian order, and 12 zeros.
func benchmarkValue(_ first: UInt32, _ second: UInt32) -> [UInt8] {
  var octets = [UInt8](repeating: 0, count: 20)
  for index in 0..<4 {
    octets[index] = UInt8(truncatingIfNeeded: first >> (8 * UInt32(index)))
    octets[4 + index] = UInt8(truncatingIfNeeded: second >> (8 * UInt32(index)))
  }
  return octets
}

/// Whether manufacturer data begins with FF FF FF FF FF FF, with which the load generator ends a scan.
func isMarker(_ manufacturerData: some Sequence<UInt8>) -> Bool {
  manufacturerData.starts(with: repeatElement(0xFF, count: 6))
}
