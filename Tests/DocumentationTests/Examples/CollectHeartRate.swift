import BLEKit

/// Finds a heart-rate sensor and takes some measurements of it.
func collectHeartRate(with adapter: Adapter, count: Int) async throws -> [UInt8] {
  try await adapter.withConnection(to: .advertising("180D")) { device in
    var rates: [UInt8] = []
    for try await value in device.values(of: "2A37", in: "180D") {
      rates += value.dropFirst().prefix(1)
      if rates.count == count { break }
    }
    try await device.write(UInt8(1), to: "2A39", in: "180D")
    return rates
  }
}
