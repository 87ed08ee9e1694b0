import BLEHCI
import Foundation

// Links that carry as much as they can, in virtual time. Benchmarks/link_limit.py computes from the traces what they
// could carry.
//
//     link-limit FOLDER [NAME...]
//     link-limit --subrating                 what subrating costs and saves: a line for each run of Subrating.swift
//
// It writes FOLDER/NAME.HOST.btsnoop for each host of each run; host 0 is the central. Without names it performs all
// runs.

let arguments = CommandLine.arguments.dropFirst()
guard let folder = arguments.first else {
  print("usage: link-limit FOLDER [NAME...] | --subrating")
  exit(64)
}
if folder == "--subrating" {
  for run in SubratingRun.all { print(try run.perform()) }
  exit(0)
}
let names = Set(arguments.dropFirst())
for run in LimitRun.all where names.isEmpty || names.contains(run.name) {
  var traffic = Traffic(run)
  do {
    let traces = try traffic.perform()
    for (host, trace) in traces.enumerated() {
      try Data(trace).write(to: URL(fileURLWithPath: "\(folder)/\(run.name).\(host).btsnoop"))
    }
    print(run.name)
  } catch {
    print("link-limit: \(run.name): \(error)")
    exit(1)
  }
}
