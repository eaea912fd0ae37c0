package invoker

// Unexported functions, for tests.
var (
	DecodeCompletion = decodeCompletion
	Promise          = promise
	Turn             = turn
	PacedRoom        = pacedRoom
)

// The times of a pace, for tests.
const (
	PaceBurst   = paceBurst
	PaceHorizon = paceHorizon
	StaleSlot   = staleSlot
)
