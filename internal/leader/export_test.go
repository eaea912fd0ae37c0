package leader

// The parsers are tested from outside, since the NATS of the tests imports this package.
var (
	Parse       = parse
	ParseHeader = parseHeader
)
