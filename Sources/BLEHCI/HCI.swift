/// The namespace of the Host Controller Interface: commands and events under the names of the specification, such as
/// `HCI.LESetAdvertisingData` for HCI_LE_Set_Advertising_Data (Vol 4, Part E, 7).
///
/// A host encodes commands and decodes events; a controller decodes commands and encodes events with the same
/// declarations. They are complete for LE up to version 5.4, because tools decode traces with them, and have the
/// extended feature set and the shorter connection intervals of later versions; a host uses some of them.
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
