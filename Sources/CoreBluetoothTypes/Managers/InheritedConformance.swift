import Synchronization

/// A delegate whose class inherits its conformance to the delegate's protocol.
///
/// Without the Objective-C runtime, Swift chooses the method for each requirement where the conformance is declared: a
/// method of that class, or the default of the protocol. A method that only a subclass has is never called
/// (Docs/Decisions/corebluetooth.md#three-modules).
struct InheritedConformance {
  /// The class of the delegate.
  let delegate: AnyClass
  /// The class that declares the conformance.
  let declaring: AnyClass

  /// - Parameter conforms: whether a class conforms to the protocol, by a declaration of its own or of a superclass.
  /// - Returns: nil where the class of the delegate declares the conformance itself.
  init?(of delegate: AnyClass, conforms: (AnyClass) -> Bool) {
    var declaring: AnyClass = delegate
    while let superclass = _getSuperclass(declaring), conforms(superclass) { declaring = superclass }
    guard declaring != delegate else { return nil }
    (self.delegate, self.declaring) = (delegate, declaring)
  }

  /// The line for the log. It is also true for a subclass that adds no method of the protocol: the two cannot be told
  /// apart.
  func warning(_ name: StaticString) -> String {
    let superclass = _getSuperclass(delegate).map { "\($0), " } ?? ""
    return """
      the class \(delegate) of the delegate inherits its conformance to \(name) from \(declaring): methods of the \
      protocol that \(delegate) has and \(declaring) lacks are not called on Linux. Declare \
      "class \(delegate): \(superclass)\(name)" and \(declaring) without the protocol, or add the methods to \
      \(declaring) and override them
      """
  }

  /// The classes that were examined, with the protocol. Each class is reported once in the process.
  private static let examined = Mutex<Set<Examined>>([])

  private struct Examined: Hashable {
    let type: ObjectIdentifier
    let name: String
  }

  static func isFirst(_ delegate: AnyClass, _ name: StaticString) -> Bool {
    let key = Examined(type: ObjectIdentifier(delegate), name: "\(name)")
    return examined.withLock { $0.insert(key).inserted }
  }
}

extension CBManager {
  /// Logs once for each class that a delegate inherits its conformance.
  ///
  /// - Parameters:
  ///   - name: the protocol.
  ///   - conforms: whether a class conforms to it.
  final func examine(_ delegate: AnyObject?, _ name: StaticString, conforms: (AnyClass) -> Bool) {
    guard let delegate else { return }
    let type: AnyClass = Swift.type(of: delegate)
    guard InheritedConformance.isFirst(type, name),
      let inherited = InheritedConformance(of: type, conforms: conforms)
    else { return }
    warn(inherited.warning(name))
  }
}
