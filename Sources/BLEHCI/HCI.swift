/// The name space of the Host Controller Interface: its commands and events under the specification's names,
/// `HCI.LESetAdvertisingData` for HCI_LE_Set_Advertising_Data (Vol 4, Part E, 7).
///
/// A host encodes commands and decodes events; a controller does the reverse with the same declarations.
///
/// ```swift
/// let disconnect = HCI.Disconnect {
///   $0.connectionHandle = ConnectionHandle(rawValue: 0x0040)
///   $0.reason = .remoteUserTerminatedConnection
/// }
/// var out = PacketBuffer()
/// out.append(disconnect)  // 01 06 04 03 40 00 13
/// ```
public enum HCI {}
