package import BLEHCI

/// The encryption of a link, in each event that reports it (Vol 4, Part E, 7.7.8 and 7.7.39).
package struct EncryptionChange {
  package var link: ConnectionHandle
  package var status: HCIErrorCode
  /// Whether the link is encrypted, or has another key.
  package var isOn: Bool
}

extension HCIEvent {
  /// Nil for an event about something else.
  package var encryptionChange: EncryptionChange? {
    switch self {
    case .encryptionChange(let event):
      EncryptionChange(link: event.connectionHandle, status: event.status, isOn: event.encryptionEnabled != .off)
    case .encryptionChangeV2(let event):
      EncryptionChange(link: event.connectionHandle, status: event.status, isOn: event.encryptionEnabled != .off)
    case .encryptionKeyRefreshComplete(let event):
      EncryptionChange(link: event.connectionHandle, status: event.status, isOn: true)
    default: nil
    }
  }
}
