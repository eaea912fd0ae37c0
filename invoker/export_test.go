package invoker

// DecodeCompletion is decodeCompletion, for tests.
var DecodeCompletion = decodeCompletion
