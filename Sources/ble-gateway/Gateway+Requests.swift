import BLEWire
import FoundationEssentials
import GatewayCore

/// Requests of clients of the broker. Each gateway receives each of them; the one that serves the device answers.
extension Gateway {
  /// Requests that wait until a gateway serves their device.
  private static let waitingRequestLimit = 64
  private static let waitingRequestTime = Duration.seconds(5)

  /// - Parameter rejected: the request of the answer where the payload is malformed.
  func accept(
    _ attribute: AttributeName, _ rejected: Request, _ parse: () throws(GatewayError) -> Request
  ) {
    do throws(GatewayError) {
      assign(attribute, try parse())
    } catch {
      // One gateway answers.
      if serves(attribute.address) || !claims.isKnown(attribute.address, now: now) && isFirst {
        answer(attribute, rejected, .failure(error))
      }
    }
  }

  /// Lines about retained requests for each connection to the broker.
  private static let retainedRequestLines = 8

  /// A request that the broker kept is as old as its last publication, and would be performed at each connection.
  func ignoreRetainedRequest(_ topic: String) {
    rejectedRequests += 1
    retainedRequests += 1
    if retainedRequests <= Self.retainedRequestLines {
      Log.line(
        "a retained request is not performed: \(topic). Publish requests without RETAIN, and remove it: "
          + "mosquitto_pub -h \(configuration.broker.host) -r -n -t '\(String(printable: topic))'")
    } else if retainedRequests == Self.retainedRequestLines + 1 {
      Log.line("further retained requests are not performed")
    }
  }

  /// Lines about requests on malformed topics for each connection to the broker.
  private static let malformedTopicLines = 8

  /// A request on a topic that names no characteristic has no topic for an answer.
  func ignoreMalformedTopic(_ topic: String, _ fault: String) {
    rejectedRequests += 1
    malformedTopics += 1
    if malformedTopics <= Self.malformedTopicLines {
      Log.line("a request is not performed: \(String(printable: topic.prefix(200))): \(fault)")
    } else if malformedTopics == Self.malformedTopicLines + 1 {
      Log.line("further requests on topics that are malformed are not reported")
    }
  }

  private func serves(_ address: DeviceAddress) -> Bool { claims.serves(address) }

  /// Whether this gateway answers for devices that none receives.
  private var isFirst: Bool { (gateways.min() ?? configuration.identifier) == configuration.identifier }

  /// Gives a request to the session of its device, or lets it wait for a decision of the gateways.
  func assign(_ attribute: AttributeName, _ request: Request) {
    if serves(attribute.address) { return forward(attribute, request) }
    guard waiting.count < Self.waitingRequestLimit else {
      return answer(attribute, request, .failure(GatewayError(.busy, "too many requests wait at the gateway")))
    }
    waiting.append((attribute, request, now + Self.waitingRequestTime))
  }

  /// Assigns requests that waited for a decision of the gateways.
  func assignWaiting() {
    let requests = waiting
    waiting = []
    for (attribute, request, until) in requests {
      if serves(attribute.address) {
        forward(attribute, request)
      } else if now < until {
        waiting.append((attribute, request, until))
      } else if !claims.isKnown(attribute.address, now: now), isFirst {
        answer(attribute, request, .failure(notReceived(attribute.address)))
      }
    }
  }

  func notReceived(_ address: DeviceAddress) -> GatewayError {
    GatewayError(.notFound, "no gateway receives \(address). Is it switched on and near? Run: ble scan")
  }

  func forward(_ attribute: AttributeName, _ request: Request) {
    let session = session(with: attribute.address)
    if !session.add(DeviceSession.Work(attribute: attribute, request: request)) {
      answer(
        attribute, request,
        .failure(GatewayError(.busy, "\(DeviceSession.requestLimit) requests for the device wait already")))
    }
  }

  /// Publishes the answer to a request.
  func answer(_ attribute: AttributeName, _ request: Request, _ outcome: Result<[UInt8], GatewayError>) {
    if case .failure = outcome { rejectedRequests += 1 }
    enqueue(
      ValueQueue.Message(
        topic: topics.result(attribute),
        payload: Messages.result(of: request, outcome, uuid: attribute.characteristic, at: Date())),
      of: attribute.address)
  }
}
