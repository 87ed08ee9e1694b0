import AdapterFixtures
import BLEHost
import BLELinux
import BluetoothLE
import Testing

@testable import CoreBluetoothTypes

/// Delegates whose class inherits its conformance are logged, each class once in the process, so that each test has
/// classes of its own.
@Suite struct InheritedConformanceTests {
  class Base: NSObject, PeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }

  @Test func aSubclassOfTheConformingClassIsLoggedOnce() {
    final class Adding: Base {
      var isCalled = false
      func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
        isCalled = true
      }
    }
    let fixture = PeripheralFixture()
    let (first, second) = (Adding(), Adding())
    for delegate in [first, second, first] { fixture.manager.delegate = delegate }
    #expect(
      fixture.logged() == [
        """
        CBPeripheralManager: the class Adding of the delegate inherits its conformance to CBPeripheralManagerDelegate \
        from Base: methods of the protocol that Adding has and Base lacks are not called on Linux. Declare \
        "class Adding: Base, CBPeripheralManagerDelegate" and Base without the protocol, or add the methods to Base \
        and override them
        """
      ])
    fixture.manager.startAdvertising(nil)
    fixture.settle()
    #expect(fixture.manager.isAdvertising && !first.isCalled, "the line is true")
    // Another manager has its delegate from the start.
    let host = ScriptedHost()
    let manager = PeripheralManager(
      delegate: second, queue: fixture.queue, link: host.link(), log: { [host] in host.log.append($0.text) })
    #expect(manager.delegate === second && host.log.take() == [])
  }

  @Test func theClassThatDeclaresTheConformanceIsNamed() throws {
    class Middle: Base {}
    final class Last: Middle {}
    let host = ScriptedHost()
    let delegate = Last()
    let manager = PeripheralManager(
      delegate: delegate, queue: nil, link: host.link(), log: { [host] in host.log.append($0.text) })
    let line = try #require(host.log.take().first)
    #expect(line.contains("CBPeripheralManagerDelegate from Base:") && line.contains("class Last: Middle, CB"))
    _ = manager
  }

  @Test func eachProtocolOfADelegateIsExamined() throws {
    class Conforming: NSObject, CentralManagerDelegate, PeripheralDelegate, PairingDelegate {
      func centralManagerDidUpdateState(_ central: CentralManager) {}
    }
    final class Inheriting: Conforming {}
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let delegate = Inheriting()
    fixture.manager.delegate = delegate
    peripheral.delegate = delegate
    fixture.manager.pairingDelegate = delegate
    let lines = fixture.logged()
    #expect(lines.count == 3)
    for (line, name) in zip(lines, ["CBCentralManagerDelegate", "CBPeripheralDelegate", "CBPairingDelegate"]) {
      #expect(line.contains("inherits its conformance to \(name) from Conforming:"))
    }
  }

  /// One protocol is inherited, the other one is not.
  @Test func onlyTheInheritedProtocolIsLogged() throws {
    class Conforming: NSObject, CentralManagerDelegate {
      func centralManagerDidUpdateState(_ central: CentralManager) {}
    }
    final class Both: Conforming, PeripheralDelegate {}
    let fixture = CentralFixture()
    let peripheral = try fixture.connect(1)
    let delegate = Both()
    peripheral.delegate = delegate
    #expect(fixture.logged() == [])
    fixture.manager.delegate = delegate
    #expect(fixture.logged().count == 1)
    withExtendedLifetime(peripheral) {}
  }

  class Plain: NSObject {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }
  final class OverPlain: Plain, PeripheralManagerDelegate {}
  class Extended: NSObject {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }
  class GenericBase<Value>: NSObject {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }
  class OverGeneric: GenericBase<Int>, PeripheralManagerDelegate {}
  final class GenericOverGeneric<Value>: GenericBase<Value>, PeripheralManagerDelegate {}
  final class Generic<Value>: NSObject, PeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }
  final class Refining: NSObject, RefinedDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }
  final class Direct: NSObject, PeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }

  /// Classes that declare the conformance themselves, whatever their superclasses are.
  @Test func aClassThatDeclaresTheConformanceIsNotLogged() {
    let delegates: [any PeripheralManagerDelegate] = [
      Base(), OverPlain(), Extended(), OverGeneric(), GenericOverGeneric<Int>(), Generic<Int>(), Generic<String>(),
      Refining(), Direct(),
    ]
    let fixture = PeripheralFixture()
    for delegate in delegates { fixture.manager.delegate = delegate }
    fixture.manager.delegate = nil
    #expect(fixture.logged() == [])
  }

  @Test func aSubclassOfAGenericClassThatConformsIsLogged() throws {
    final class Special: GenericConforming<Int> {}
    let fixture = PeripheralFixture()
    let delegate = Special()
    fixture.manager.delegate = delegate
    let line = try #require(fixture.logged().first)
    #expect(
      line.contains("from GenericConforming<Int>: ") && line.contains("class Special: GenericConforming<Int>, CB"))
  }

  class GenericConforming<Value>: NSObject, PeripheralManagerDelegate {
    func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
  }

  /// The line's two remedies.
  @Test func aMethodIsCalledWhereTheLineSaysSo() {
    final class Declaring: Plain, PeripheralManagerDelegate {
      var isCalled = false
      func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
        isCalled = true
      }
    }
    class Complete: NSObject, PeripheralManagerDelegate {
      func peripheralManagerDidUpdateState(_ peripheral: PeripheralManager) {}
      func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {}
    }
    final class Overriding: Complete {
      var isCalled = false
      override func peripheralManagerDidStartAdvertising(_ peripheral: PeripheralManager, error: (any Error)?) {
        isCalled = true
      }
    }
    let (declaring, overriding) = (Declaring(), Overriding())
    for delegate in [declaring, overriding] as [any PeripheralManagerDelegate] {
      let fixture = PeripheralFixture()
      fixture.manager.delegate = delegate
      fixture.manager.startAdvertising(nil)
      fixture.settle()
    }
    #expect(declaring.isCalled && overriding.isCalled)
  }
}

protocol RefinedDelegate: PeripheralManagerDelegate {}

extension InheritedConformanceTests.Extended: PeripheralManagerDelegate {}
