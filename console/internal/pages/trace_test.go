package pages

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.temporal.io/api/common/v1"
)

// TestTrace: only the ID of a valid trace gets into an address.
func TestTrace(t *testing.T) {
	t.Parallel()
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	p := &Pages{config: Config{TraceURL: "https://x.example/{trace}?id={trace}"}}
	assert.Equal(t, traceLink{id, "https://x.example/" + id + "?id=" + id}, p.trace("00-"+id+"-00f067aa0ba902b7-01"))
	assert.Equal(t, traceLink{ID: id}, (&Pages{}).trace("00-"+id+"-00f067aa0ba902b7-01"))
	for _, none := range []string{
		"", id, "00-" + id, "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
		`00-"><script>alert(1)</script>12345-00f067aa0ba902b7-01`, "00-../../../../../../../../../../aa-00f067aa0ba902b7-01", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
	} {
		assert.Zero(t, p.trace(none), none)
	}
	header := func(data string) *common.Header {
		return &common.Header{Fields: map[string]*common.Payload{headerTracer: {Data: []byte(data)}}}
	}
	assert.Equal(t, "00-a", parentOf(header(`{"traceparent":"00-a","tracestate":"x"}`)))
	for _, none := range []*common.Header{nil, {}, header(""), header("{"), header(`{"traceparent":1}`), header(`["00-a"]`)} {
		assert.Empty(t, parentOf(none))
	}
}
