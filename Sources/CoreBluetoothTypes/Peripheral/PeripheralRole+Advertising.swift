import BLEEngine
import BLEGAP
import BLEHost

extension PeripheralRole {
  /// Starts what a dictionary asks for, or notes why not; either way the answer comes in its turn.
  mutating func startAdvertising(
    _ advertisement: Result<Advertisement, CBError>, into effects: inout PeripheralEffects
  ) {
    do {
      _ = try begin(try advertisement.get(), .coreBluetooth, into: &effects)
    } catch {
      let refusal = error as? CBError ?? CBError(.invalidParameters, "\(error)")
      starts.ask(HostNames.advertising(), (), answer: .failure(refusal))
      flushAnswers(into: &effects)
    }
  }

  /// - Throws: ``CBError`` or `AdvertisingDataError`; nothing is advertised then.
  mutating func begin(
    _ advertisement: Advertisement, _ options: AdvertisingOptions, into effects: inout PeripheralEffects
  ) throws -> AdvertisingPayload {
    guard advertising == .off else {
      throw CBError(.alreadyAdvertising, "this manager advertises already: call stopAdvertising() first")
    }
    let payload = try advertisement.payload(under: options.policy)
    guard let intent = options.intent(payload) else {
      throw CBError(
        .invalidParameters,
        "an advertising interval of \(options.interval.lowerBound) to \(options.interval.upperBound) is not allowed: 20 ms to 10.24 s"
      )
    }
    let id = HostNames.advertising()
    advertising = .starting(id)
    starts.ask(id, ())
    effects.commands.append(.startAdvertising(id, intent))
    return payload
  }

  mutating func advertisingStarted(
    _ id: AdvertisingID, _ result: Result<Void, HostError>, into effects: inout PeripheralEffects
  ) {
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
    case .starting(let id), .on(let id): effects.commands.append(.stopAdvertising(id))
    }
    advertising = .off
  }
}
