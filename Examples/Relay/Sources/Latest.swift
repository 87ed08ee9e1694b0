import BLEProfiles
import Synchronization

/// The latest value of the sensor; nil while there is no link to it.
final class Latest: Sendable {
  private let state = Mutex<EnvironmentalValue<Temperature>?>(nil)
  var value: EnvironmentalValue<Temperature>? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
