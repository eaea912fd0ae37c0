package telemetry

import "strings"

// The parts of a traceparent of version 00, which is the version that is written here: 00-<trace>-<span>-<flags>.
const (
	traceparentLength = 55
	traceStart        = 3
	spanStart         = 36
	flagsStart        = 53
)

// isTraceparent reports whether text is a valid traceparent in the form in which the propagator would write it. It says
// no to some that are valid, and are written in another form: those of later versions.
func isTraceparent(text string) bool {
	return len(text) == traceparentLength && strings.HasPrefix(text, "00-") &&
		isID(text[traceStart:spanStart-1]) && text[spanStart-1] == '-' &&
		isID(text[spanStart:flagsStart-1]) && text[flagsStart-1] == '-' &&
		// Sampled, random, both or none: other flags are reserved.
		text[flagsStart] == '0' && text[flagsStart+1] >= '0' && text[flagsStart+1] <= '3'
}

// isID reports whether text is a number in hexadecimal, in lower case and not zero.
func isID(text string) bool {
	zero := true
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
		zero = zero && c == '0'
	}
	return !zero
}
