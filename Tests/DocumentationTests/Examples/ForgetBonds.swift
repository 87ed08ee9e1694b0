import BluetoothLE

/// Prints the bonds of an adapter, and removes those that a device in the middle may have.
func forgetUnprotectedBonds(of adapter: Adapter) {
  for bond in adapter.bonds {
    print(bond)
    if !bond.isProtected { adapter.remove(bond) }
  }
}
