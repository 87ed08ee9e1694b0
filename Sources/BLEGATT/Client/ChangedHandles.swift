package import BLEATT

/// The handles whose attributes a server has changed, and that were not discovered again since (Vol 3, Part G, 2.5.2).
/// Another attribute may have such a handle by now: it is not read or written, and its values are not reported.
package struct ChangedHandles: Sendable {
  /// In order, without common handles.
  private var ranges: [ClosedRange<AttributeHandle>] = []

  /// The number of separate ranges. One more, and everything from the first to the last counts as changed.
  package static let limit = 64

  package init() {}

  package var isEmpty: Bool { ranges.isEmpty }

  package func contains(_ handle: AttributeHandle) -> Bool { ranges.contains { $0.contains(handle) } }

  package func overlaps(_ range: ClosedRange<AttributeHandle>) -> Bool { ranges.contains { $0.overlaps(range) } }

  package mutating func insert(_ range: ClosedRange<AttributeHandle>) {
    remove(range)
    ranges.append(range)
    ranges.sort { $0.lowerBound < $1.lowerBound }
    if ranges.count > Self.limit, let first = ranges.first, let last = ranges.last {
      ranges = [first.lowerBound...last.upperBound]
    }
  }

  /// The attributes in a range were discovered again.
  package mutating func remove(_ range: ClosedRange<AttributeHandle>) {
    guard overlaps(range) else { return }
    ranges = ranges.flatMap { changed -> [ClosedRange<AttributeHandle>] in
      guard changed.overlaps(range) else { return [changed] }
      var rest: [ClosedRange<AttributeHandle>] = []
      if changed.lowerBound < range.lowerBound {
        rest.append(changed.lowerBound...AttributeHandle(range.lowerBound.rawValue - 1))
      }
      if changed.upperBound > range.upperBound {
        rest.append(AttributeHandle(range.upperBound.rawValue + 1)...changed.upperBound)
      }
      return rest
    }
  }
}

extension GATTClient.Operation.Kind {
  /// Whether it reads or writes an attribute that has changed.
  func uses(_ changed: ChangedHandles) -> Bool {
    switch self {
    case .read(let handle), .readLong(let handle), .writeWithoutResponse(let handle, _), .signedWrite(let handle, _),
      .write(let handle, _), .writeLong(let handle, _, _):
      changed.contains(handle)
    case .readMultiple(let handles), .readMultipleVariable(let handles): handles.contains(where: changed.contains)
    case .reliableWrite(let writes): writes.contains { changed.contains($0.handle) }
    // The value is before its descriptors.
    case .configure(_, let range): changed.overlaps(range) || changed.contains(range.lowerBound.previous)
    case .exchangeMTU, .discoverPrimaryServices, .discoverPrimaryServicesByUUID, .findIncludedServices,
      .discoverCharacteristics, .discoverCharacteristicsByUUID, .discoverDescriptors, .readUsingUUID,
      .subscribeToServiceChanged, .request:
      false
    }
  }

  /// Whether its parameters come from a discovery of attributes that have changed.
  func depends(on changed: ChangedHandles) -> Bool {
    switch self {
    case .findIncludedServices(let range), .discoverCharacteristics(let range),
      .discoverCharacteristicsByUUID(_, let range), .discoverDescriptors(let range):
      changed.overlaps(range)
    case .readUsingUUID(_, let range): range != .first ... .last && changed.overlaps(range)
    default: uses(changed)  // The others name attributes, or none.
    }
  }

  /// Whether it can begin again when attributes change while it is performed: it depends on no handle.
  var beginsAgain: Bool {
    switch self {
    case .discoverPrimaryServices, .discoverPrimaryServicesByUUID, .subscribeToServiceChanged: true
    case .readUsingUUID(_, let range): range == .first ... .last
    case .exchangeMTU, .findIncludedServices, .discoverCharacteristics, .discoverCharacteristicsByUUID,
      .discoverDescriptors, .read, .readLong, .readMultiple, .readMultipleVariable, .writeWithoutResponse,
      .signedWrite, .write, .writeLong, .reliableWrite, .configure, .request:
      false
    }
  }
}

extension AttributeHandle {
  fileprivate var previous: Self { Self(rawValue &- 1) }
}
