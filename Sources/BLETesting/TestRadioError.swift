/// Why a test on a ``TestRadio`` could not end by itself.
public enum TestRadioError: Error, Hashable, CustomStringConvertible {
  /// The test had not ended after this time of the radio.
  case timeLimit(Duration)
  /// The test waits, nothing is due on the radio any more, and for this real time nothing else has happened either.
  case nothingHappens(Duration)
  /// ``TestRadio/wait(atMost:until:)``: the condition did not become true within this time of the radio.
  case conditionNotMet(Duration)
  /// ``TestDevice/expect(_:within:)``: an action has not happened, and what has happened instead.
  case missing(String)
  /// ``TestDevice/expectNone(of:for:)``: an action has happened.
  case unwanted(String)
  /// The delegate of a manager of this device has not returned for this real time.
  case delegateBlocks(String, Duration)
  /// The body of the test has returned, and the radio is gone.
  case radioEnded
  /// Another device of the radio has this name.
  case nameInUse(String)
  /// A packet trace could not be written, or not be repeated, with the reason.
  case trace(String)
  /// The description of a device could not be read, with the reason.
  case description(String)

  public var description: String {
    switch self {
    case .timeLimit(let time):
      "the test has not ended after \(time) of the radio's time: look at what it awaits, or give TestRadio.run a "
        + "longer timeLimit"
    case .nothingHappens(let time):
      "the test waits for something that nothing on the radio will cause, and for \(time) nothing else has happened: "
        + "look at what it awaits; work that is done elsewhere belongs into TestRadio.inRealTime"
    case .conditionNotMet(let time): "the condition is not met after \(time) of the radio's time"
    case .missing(let text): text
    case .unwanted(let text): text
    case .delegateBlocks(let name, let time):
      "a delegate of a manager of '\(name)' has not returned for \(time): it must not wait on its queue for what the "
        + "same queue has to do"
    case .radioEnded: "the radio ended with the body of TestRadio.run"
    case .nameInUse(let name): "the radio has a device '\(name)' already: give each device a name of its own"
    case .trace(let text): "the packet trace: \(text)"
    case .description(let text): "the description of a device: \(text)"
    }
  }
}
