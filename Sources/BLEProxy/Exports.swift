// A program that imports BLEProxy also gets the adapters, addresses and errors of its API.
@_exported public import BLEKit
