import BLEAdapter
import BLEGAP
import BLEHost
import Foundation

extension PeripheralRole {
  /// Starts the advertisement that a dictionary describes, or records why not; in both cases the answer comes in its
  /// turn.
  mutating func startAdvertising(
    _ advertisement: Result<Advertisement, CBError>, into effects: inout PeripheralEffects
  ) {
    do {
      let content = try advertisement.get()
      _ = try begin(content, .coreBluetooth, into: &effects)
      declared = .init(localName: content.localName, serviceUUIDs: content.serviceUUIDs)
    } catch {
      let refusal = error as? CBError ?? CBError(.invalidParameters, "\(error)")
      starts.ask(HostIDs.advertising(), (), answer: .failure(refusal))
      flushAnswers(into: &effects)
    }
  }

  /// Starts an advertisement; one of an earlier run ends with it.
  ///
  /// - Parameter restored: the start of an advertisement of an earlier run, which has no answer; nil for all others.
  /// - Throws: ``CBError`` or `AdvertisingDataError`; nothing has changed then.
  mutating func begin(
    _ advertisement: Advertisement, _ options: AdvertisingOptions, as restored: AdvertisingID? = nil,
    into effects: inout PeripheralEffects
  ) throws -> AdvertisingPayload {
    guard advertising == .off || restoredAdvertising != nil else {
      throw CBError(.alreadyAdvertising, "this manager advertises already: call stopAdvertising() first")
    }
    let payload = try advertisement.payload(under: options.policy)
    guard let intent = options.intent(payload, of: advertisement) else {
      throw CBError(
        .invalidParameters,
        "an advertising interval of \(options.interval.lowerBound) to \(options.interval.upperBound) is not allowed: 20 ms to 10.24 s"
      )
    }
    giveUpAdvertising(into: &effects)
    let id = restored ?? HostIDs.advertising()
    (advertising, declared) = (.starting(id), nil)
    if restored == nil { starts.ask(id, ()) }
    effects.commands.append(.advertising(.start(id, intent)))
    return payload
  }

  mutating func advertisingStarted(
    _ id: AdvertisingID, _ result: Result<Void, HostError>, into effects: inout PeripheralEffects
  ) {
    if id == restoredAdvertising {
      guard case .failure(let error) = result else { return }
      (advertising, restoredAdvertising) = (.off, nil)
      effects.warnings.append("the advertisement is not restored: \(CBError(error).localizedDescription)")
    }
    guard starts.contains(id) else { return }
    switch result {
    case .success:
      starts.answer(id, .success)
      if advertising == .starting(id) { advertising = .on(id) }
    case .failure(let error):
      starts.answer(id, .failure(CBError(error)))
      if advertising == .starting(id) { advertising = .off }
    }
    flushAnswers(into: &effects)
  }

  mutating func giveUpAdvertising(into effects: inout PeripheralEffects) {
    switch advertising {
    case .off: return
    case .starting(let id), .on(let id): effects.commands.append(.advertising(.stop(id)))
    }
    (advertising, restoredAdvertising) = (.off, nil)
  }
}
