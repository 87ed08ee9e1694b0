import BLECrypto
import Dispatch
import Glibc

/// A program with Dispatch, Concurrency and libcrypto that does nothing: what a Bluetooth program has at least.
///
/// It prints `READY` when each of them was used once.

let queue = DispatchQueue(label: "empty")
Task.detached {
  let code = (try? LibCrypto().cmac([1, 2, 3], key: 1)) ?? 0
  queue.async {
    print("READY \(code & 1)")
    fflush(nil)
  }
}
while true { sleep(1000) }
