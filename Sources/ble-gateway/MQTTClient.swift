import CMosquitto
import Dispatch
import FoundationEssentials
import GatewayCore
import Glibc
import Synchronization
import ToolCore

/// A connection to a broker by libmosquitto (MQTT 3.1.1), which is made again whenever it ends.
///
/// The library runs on a thread of this object and calls its handlers there. They do no work: what they receive is an
/// element of ``events``.
final class MQTTClient: Sendable {
  /// What the broker or the library reports.
  enum Event: Sendable {
    /// The broker has accepted the client and its subscriptions, and the library has sent again what was on the way
    /// before.
    case connected
    /// The connection has ended or could not be made; nil if this program has ended it.
    case disconnected(BrokerFailure?)
    /// - Parameter isRetained: whether the broker kept it and sends it because of the subscription.
    case message(topic: String, payload: Data, isRetained: Bool)
    /// The broker has a message of QoS 1.
    case acknowledged(Int32)
  }

  /// Received messages that wait; further ones are dropped and counted.
  private static let messageLimit = 4096
  /// Octets of a received payload that are kept; more than a request can have.
  private static let payloadLimit = 8192
  private static let longestPause: UInt32 = 30
  /// How long the end of the connection may take.
  private static let endTime = Duration.milliseconds(500)

  let events: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation
  /// The library's functions may be called on any thread (mosquitto_threaded_set).
  nonisolated(unsafe) private let handle: OpaquePointer
  private let state = Mutex(State())

  private struct State {
    var waitingMessages = 0
    var dropped = 0
    var hasEnded = false
    /// Subscriptions of this connection that the broker has answered.
    var answeredSubscriptions = 0
  }
  private let subscriptions: [String]

  /// - Throws: ``GatewayError`` if a file of the configuration cannot be used.
  init(_ configuration: GatewayConfiguration, topics: Topics) throws(GatewayError) {
    mosquitto_lib_init()
    guard let handle = unsafe mosquitto_new("ble-gateway-\(topics.gateway)", true, nil) else {
      throw GatewayError(.broker, "the MQTT client cannot be created: \(ToolError.text(ofError: errno))")
    }
    unsafe self.handle = handle
    subscriptions = topics.subscriptions
    (events, continuation) = AsyncStream.makeStream()
    unsafe mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
    mosquitto_threaded_set(handle, true)
    mosquitto_reconnect_delay_set(handle, 1, Self.longestPause, true)
    mosquitto_max_inflight_messages_set(handle, UInt32(ValueQueue.inFlightLimit * 2))
    let offline = Array("offline".utf8)
    mosquitto_will_set(handle, topics.status, Int32(offline.count), offline, 1, true)
    try logIn(configuration.broker)
    setHandlers()
  }

  deinit {
    mosquitto_destroy(handle)
  }

  private func logIn(_ broker: GatewayConfiguration.Broker) throws(GatewayError) {
    if let username = broker.username {
      let password: String? = if let file = broker.passwordFile { try PasswordFile.read(file) } else { nil }
      mosquitto_username_pw_set(handle, username, password)
    }
    if broker.sendsPasswordInClear {
      Log.line(
        "the password for \(broker.host) is sent without encryption: others in the network can read it. Use TLS: "
          + "--ca-file FILE")
    }
    if let file = broker.certificateAuthorities {
      let code = mosquitto_tls_set(handle, file, nil, nil, nil, nil)
      guard code == MOSQ_ERR_SUCCESS.rawValue else {
        throw GatewayError(.input, "the certificates in \(file) cannot be used: \(Self.text(of: code))")
      }
    }
  }

  private func setHandlers() {
    mosquitto_connect_callback_set(handle) { _, object, code in
      MQTTClient.of(object)?.connectionAnswered(code)
    }
    mosquitto_disconnect_callback_set(handle) { _, object, code in
      MQTTClient.of(object)?.disconnected(code)
    }
    mosquitto_subscribe_callback_set(handle) { _, object, _, _, _ in MQTTClient.of(object)?.subscriptionAnswered() }
    mosquitto_publish_callback_set(handle) { _, object, identifier in
      MQTTClient.of(object)?.continuation.yield(.acknowledged(identifier))
    }
    mosquitto_message_callback_set(handle) { _, object, message in
      guard let message = unsafe message?.pointee, let topic = unsafe message.topic else { return }
      let count = min(Int(message.payloadlen), MQTTClient.payloadLimit)
      let payload = unsafe message.payload.map { unsafe Data(bytes: $0, count: count) } ?? Data()
      unsafe MQTTClient.of(object)?.received(String(cString: topic), payload, isRetained: message.retain)
    }
  }

  private static func of(_ object: UnsafeMutableRawPointer?) -> MQTTClient? {
    unsafe object.map { unsafe Unmanaged<MQTTClient>.fromOpaque($0).takeUnretainedValue() }
  }

  private func connectionAnswered(_ code: Int32) {
    guard code == 0 else { return _ = continuation.yield(.disconnected(.rejected(UInt8(clamping: code)))) }
    state.withLock { $0.answeredSubscriptions = 0 }
    for topic in subscriptions { subscribe(topic) }
  }

  private func disconnected(_ code: Int32) {
    // The answer to a rejected connection was reported.
    if code != MOSQ_ERR_CONN_REFUSED.rawValue { continuation.yield(.disconnected(Self.failure(code))) }
  }

  /// The answer to a subscription. Only when its handler of the connection has returned does the library send again
  /// what was on the way before, so that a message which is published earlier would overtake those. Before the answer
  /// to the last subscription the broker has sent what it has of the first topic.
  private func subscriptionAnswered() {
    let count = state.withLock { state in
      state.answeredSubscriptions += 1
      return state.answeredSubscriptions
    }
    if count == subscriptions.count { continuation.yield(.connected) }
  }

  private func received(_ topic: String, _ payload: Data, isRetained: Bool) {
    let isKept = state.withLock { state in
      guard state.waitingMessages < Self.messageLimit else {
        state.dropped += 1
        return false
      }
      state.waitingMessages += 1
      return true
    }
    if isKept { continuation.yield(.message(topic: topic, payload: payload, isRetained: isRetained)) }
  }

  /// A message of ``events`` was handled. Returns the messages that were dropped since the last call.
  func messageHandled() -> Int {
    state.withLock { state in
      state.waitingMessages -= 1
      defer { state.dropped = 0 }
      return state.dropped
    }
  }

  /// Connects, and connects again whenever the connection ends, until ``end()``.
  func start(_ broker: GatewayConfiguration.Broker) {
    // A queue of its own: the calls block.
    DispatchQueue(label: "mqtt").async { [self] in
      var pause: UInt32 = 1
      while !state.withLock({ $0.hasEnded }) {
        let code = mosquitto_connect(handle, broker.host, Int32(broker.effectivePort), 30)
        if code == MOSQ_ERR_SUCCESS.rawValue {
          pause = 1
          // Makes the connection again by itself; returns after mosquitto_disconnect and after an error that has no
          // remedy.
          mosquitto_loop_forever(handle, 1000, 1)
        } else {
          continuation.yield(.disconnected(Self.failure(code)))
        }
        if state.withLock({ $0.hasEnded }) { break }
        sleep(pause)
        pause = min(pause * 2, Self.longestPause)
      }
      continuation.finish()
    }
  }

  /// Ends the connection in an orderly way: the broker does not publish the will. ``events`` ends with the connection,
  /// and at the latest after ``endTime``: the library cannot be interrupted while it waits for a broker that does not
  /// answer or pauses between two attempts.
  func end() {
    state.withLock { $0.hasEnded = true }
    mosquitto_disconnect(handle)
    Task { [continuation] in
      try? await Task.sleep(for: Self.endTime)
      continuation.finish()
    }
  }

  func subscribe(_ topic: String) { mosquitto_subscribe(handle, nil, topic, 1) }

  /// Gives a message to the library.
  ///
  /// - Parameter qos: 0, or 1 for a message that ``Event/acknowledged(_:)`` reports.
  /// - Returns: its identifier; nil where there is no connection.
  @discardableResult
  func publish(_ topic: String, _ payload: Data, qos: Int32, isRetained: Bool = false) -> Int32? {
    var identifier: Int32 = 0
    let code = payload.withUnsafeBytes { octets in
      unsafe mosquitto_publish(
        handle, &identifier, topic, Int32(octets.count), octets.baseAddress, qos, isRetained)
    }
    return code == MOSQ_ERR_SUCCESS.rawValue ? identifier : nil
  }

  /// Why the connection has ended; nil if this program has ended it.
  private static func failure(_ code: Int32) -> BrokerFailure? {
    switch mosq_err_t(rawValue: code) {
    case MOSQ_ERR_SUCCESS: nil
    case MOSQ_ERR_ERRNO where errno == ECONNREFUSED: .refused
    case MOSQ_ERR_EAI, MOSQ_ERR_LOOKUP: .unknownHost
    case MOSQ_ERR_CONN_LOST, MOSQ_ERR_NO_CONN: .lost
    case MOSQ_ERR_TLS, MOSQ_ERR_TLS_HANDSHAKE: .tls
    default: .other(text(of: code))
    }
  }

  /// Without the full stop of the library.
  private static func text(of code: Int32) -> String {
    let text =
      code == MOSQ_ERR_ERRNO.rawValue ? ToolError.text(ofError: errno) : String(cString: mosquitto_strerror(code))
    return text.last == "." ? String(text.dropLast()) : text
  }
}
