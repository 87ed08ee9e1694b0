import Foundation
import GatewayCore
import Testing

private func date(_ second: Int) -> Date { Date(timeIntervalSince1970: Double(second)) }

private func info(_ instance: GatewayInstance) -> Data {
  Messages.encode(Messages.Counters(version: "1", instance: instance))
}

/// Two gateways of one name: exactly one of them ends.
struct GatewayInstanceTests {
  @Test func theOneThatStartedFirstEnds() {
    var (first, second) = (GatewayInstance(number: 7, start: date(0)), GatewayInstance(number: 1, start: date(60)))
    // Each publishes its own and receives it.
    var superseded = [
      first.isSuperseded(by: info(first), isRetained: false), second.isSuperseded(by: info(first), isRetained: true),
      second.isSuperseded(by: info(second), isRetained: false),
    ]
    #expect(superseded == [false, false, false])
    // The first one is connected again, then the second one.
    superseded = [
      first.isSuperseded(by: info(second), isRetained: true), second.isSuperseded(by: info(second), isRetained: true),
    ]
    #expect(superseded == [true, false])
  }

  @Test func ofTwoThatStartedAtOnceOneEnds() {
    var (one, other) = (GatewayInstance(number: 1, start: date(0)), GatewayInstance(number: 0xFFFF, start: date(0)))
    _ = one.isSuperseded(by: info(one), isRetained: false)
    _ = other.isSuperseded(by: info(other), isRetained: false)
    let superseded = [
      one.isSuperseded(by: info(other), isRetained: true), other.isSuperseded(by: info(one), isRetained: true),
    ]
    #expect(superseded == [true, false])
  }

  /// A clock can have been wrong at the last start.
  @Test func anEarlierRunSaysNothing() {
    var instance = GatewayInstance(start: date(0))
    let earlier = info(GatewayInstance(start: date(3600)))
    let beforeItsOwn = instance.isSuperseded(by: earlier, isRetained: true)
    #expect(!beforeItsOwn)
  }

  @Test(arguments: ["", "{", "[]", #"{"version":"0.1.0"}"#, #"{"instance":7,"started":"9"}"#])
  func otherPayloadsSayNothing(payload: String) {
    var instance = GatewayInstance(start: date(0))
    _ = instance.isSuperseded(by: info(instance), isRetained: false)
    let superseded = instance.isSuperseded(by: Data(payload.utf8), isRetained: true)
    #expect(!superseded)
  }

  @Test func itsNumberHasSixteenDigits() {
    #expect(GatewayInstance(number: 0xAB, start: date(0)).number == "00000000000000ab")
    #expect(GatewayInstance(start: date(0)).number != GatewayInstance(start: date(0)).number)
  }
}

struct GatewayNameTests {
  /// Machines that run the same image.
  @Test func machinesOfOneNameDiffer() throws {
    let names = [UInt8](0..<200).map { GatewayConfiguration.identifier(host: "raspberrypi", identity: [1, $0]) }
    #expect(Set(names).count == 200)
    for name in names { #expect(name.wholeMatch(of: /raspberrypi-[0-9a-f]{6}/) != nil) }
    #expect(names[7] == GatewayConfiguration.identifier(host: "raspberrypi.local", identity: [1, 7]))
  }

  @Test(arguments: [
    ("", "gateway"), ("a/b+c#", "abc"), ("kitchen.example.org", "kitchen"), (".", "gateway"), ("K\u{FC}che", "Kche"),
    (String(repeating: "a", count: 100), String(repeating: "a", count: 56)),
  ])
  func itIsALevelOfATopic(host: String, name: String) {
    #expect(GatewayConfiguration.identifier(host: host, identity: []) == name)
    #expect(Topics.isLevel(GatewayConfiguration.identifier(host: host, identity: [1, 2])))
  }
}

struct CounterScheduleTests {
  private func counters(_ change: (inout Messages.Counters) -> Void = { _ in }) -> Messages.Counters {
    var counters = Messages.Counters(version: "1", instance: GatewayInstance(number: 1, start: date(0)))
    change(&counters)
    return counters
  }

  @Test func whatHasHappenedIsPublishedAtOnce() {
    var schedule = CounterSchedule()
    let changes: [(inout Messages.Counters) -> Void] = [
      { $0.connected = 1 }, { $0.lost = 1 }, { $0.rejectedRequests = 1 }, { $0.refusedSubscriptions = 1 },
      { $0.adapter = "C0:11:22:33:44:55" },
    ]
    var due = [schedule.isDue(counters(), now: .zero), schedule.isDue(counters(), now: .seconds(3600))]
    #expect(due == [true, false])
    due = changes.enumerated().map { schedule.isDue(counters($0.element), now: .seconds($0.offset + 1)) }
    #expect(due == [true, true, true, true, true])
  }

  @Test func trafficIsPublishedOnceAMinute() {
    var schedule = CounterSchedule()
    let published = (0..<180).filter { second in
      let counters = counters {
        $0.acknowledged = second; $0.coalescedAdvertisements = second; $0.kept = second % 3
      }
      return schedule.isDue(counters, now: .seconds(second))
    }
    #expect(published == [0, 60, 120])
  }

  @Test func theyArePublishedAgainForANewBroker() {
    var schedule = CounterSchedule()
    _ = schedule.isDue(counters(), now: .zero)
    schedule.forget()
    let isDue = schedule.isDue(counters(), now: .seconds(1))
    #expect(isDue)
  }
}

struct BrokerFailureTests {
  private func broker(_ change: (inout GatewayConfiguration.Broker) -> Void = { _ in }) -> GatewayConfiguration.Broker {
    var broker = GatewayConfiguration.Broker()
    broker.host = "mqtt.local"
    change(&broker)
    return broker
  }

  @Test(
    arguments: [
      (.refused, "connection refused. Start a broker there, or give the address of another one: --broker HOST[:PORT]"),
      (.unknownHost, "the name is unknown. Check the address and the network: --broker HOST[:PORT]"),
      (.lost, "the connection has ended. The gateway connects again"),
      (.tls, "a TLS error. Give the certificates: --ca-file FILE"),
      (.other("No route to host"), "No route to host. The gateway tries again"),
    ] as [(BrokerFailure, String)])
  func aConnectionThatFailsHasARemedy(failure: BrokerFailure, reason: String) {
    #expect(failure.text(of: broker(), identifier: "a") == "no connection to the broker mqtt.local:1883: \(reason)")
    #expect(!failure.isFinal)
  }

  @Test func aTLSErrorNamesTheCertificates() {
    let text = BrokerFailure.tls.text(of: broker { $0.certificateAuthorities = "/ca.pem" }, identifier: "a")
    #expect(
      text
        == "no connection to the broker mqtt.local:8883: a TLS error. Check the port, and the certificates in /ca.pem")
  }

  /// The return codes of MQTT 3.1.1, 3.2.2.3.
  @Test(
    arguments: [
      (1, "it does not support MQTT 3.1.1 (code 1). Use a newer broker", true),
      (2, "it does not accept the name 'a' (code 2). Give another one: --id NAME", true),
      (3, "it is not available (code 3). The gateway tries again", false),
      (
        4, "wrong user name or password (code 4). Check the user name and the password file of the configuration", true
      ),
      (5, "not authorized (code 5). Check the user name and the password file of the configuration", true),
      (9, "code 9", false),
    ] as [(UInt8, String, Bool)])
  func aRejectionHasARemedy(code: UInt8, reason: String, isFinal: Bool) {
    let failure = BrokerFailure.rejected(code)
    let text = failure.text(of: broker { $0.username = "u" }, identifier: "a")
    #expect(text == "the broker mqtt.local:1883 rejects the gateway: \(reason)")
    #expect(failure.isFinal == isFinal)
  }

  @Test func aGatewayWithoutAUserNameIsToldToGiveOne() {
    let text = BrokerFailure.rejected(5).text(of: broker(), identifier: "a")
    #expect(text.hasSuffix("Give a user name and a password: --username NAME --password-file FILE"))
  }

  @Test(
    arguments: [
      ("mqtt.local", nil, true), ("192.168.1.2", nil, true), ("localhost", nil, false), ("127.0.0.1", nil, false),
      ("::1", nil, false), ("mqtt.local", "/ca.pem", false),
    ] as [(String, String?, Bool)])
  func aPasswordIsSentInClearWithoutTLS(host: String, file: String?, isInClear: Bool) {
    var broker = broker {
      ($0.host, $0.username, $0.passwordFile, $0.certificateAuthorities) = (host, "u", "/p", file)
    }
    #expect(broker.sendsPasswordInClear == isInClear)
    broker.passwordFile = nil
    #expect(!broker.sendsPasswordInClear)
  }

  @Test func aPasswordNeedsAUserName() throws {
    var configuration = GatewayConfiguration()
    configuration.identifier = "a"
    configuration.broker.passwordFile = "/p"
    let error = try #require(throws: GatewayError.self) { try configuration.check() }
    #expect(error.kind == .configuration)
    #expect(error.text == "broker.passwordFile: a password needs a user name. Give it with --username NAME")
  }
}
