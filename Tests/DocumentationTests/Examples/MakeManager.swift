import BluetoothLE

/// A manager for an adapter that the program names: its initializer has one argument more than Apple's.
func makeManager(delegate: any CentralManagerDelegate, transport: String) -> CentralManager {
  var options = AdapterOptions(transport: transport)
  options.pairing.capability = .keyboardDisplay
  return CentralManager(delegate: delegate, queue: DispatchQueue(label: "bluetooth"), adapter: options)
}
