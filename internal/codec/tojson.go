package codec

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// MsgpackToJSON turns one msgpack value into JSON. Field names, texts, durations and times stay as they are. In addition:
//
//   - a time may also be a timestamp of msgpack; other extensions are problems;
//   - binary data becomes base64 text;
//   - a number without a fraction becomes a whole number, 5.0 as well as 5; NaN and infinity are problems;
//   - a key must be text;
//   - the limits of JSON texts apply, both to the bytes and to the resulting JSON.
//
// It keeps repeated keys. The reader of the JSON must deal with them.
func MsgpackToJSON(data []byte) ([]byte, *jsontext.Problem) {
	if problem := jsontext.CheckSize(len(data)); problem != nil {
		return nil, problem
	}
	c := msgpackConverter{in: recordReader{rest: data}, size: len(data), out: make([]byte, 0, 2*len(data))}
	if problem := c.value(); problem != nil {
		return nil, problem
	}
	if rest := len(c.in.rest); rest > 0 {
		return nil, jsontext.Problemf("", "is not valid msgpack: byte %d: %d bytes too many", len(data)-rest+1, rest)
	}
	return c.out, nil
}

// msgpackConverter writes JSON. It keeps the order of keys, and repeated keys, which the reader of the JSON finds.
// jsontext.MaxDepth limits its stack and jsontext.MaxBytes its output.
type msgpackConverter struct {
	in   recordReader
	size int // of the whole data
	out  []byte
	way  jsontext.Trail
}

func (c *msgpackConverter) value() *jsontext.Problem {
	if problem := jsontext.CheckSize(len(c.out)); problem != nil {
		return problem
	}
	h, err := c.in.header()
	if err != nil {
		return c.broken(err)
	}
	if h.shape == listShape || h.shape == mapShape {
		return c.container(h)
	}
	content, err := c.in.take(h.size)
	if err != nil {
		return c.broken(err)
	}
	switch {
	case h.shape == extensionShape:
		return c.timestamp(content)
	case isBinary(h.code):
		c.out = append(c.out, '"')
		c.out = append(base64.StdEncoding.AppendEncode(c.out, content), '"')
		return nil
	case h.shape == textShape:
		return c.text(content)
	}
	return c.scalar(h, content)
}

func isBinary(code byte) bool { return code >= msgpcode.Bin8 && code <= msgpcode.Bin32 }

// container reads the entries of a list or map. Each takes at least one byte, so that the converter trusts a size only as far as
// the data goes.
func (c *msgpackConverter) container(h header) *jsontext.Problem {
	if len(c.way) == jsontext.MaxDepth {
		return jsontext.TooDeep(jsontext.MaxDepth)
	}
	if h.size < 0 || h.size > len(c.in.rest) {
		return c.broken(errCutShort)
	}
	opening, closing := byte('['), byte(']')
	if h.shape == mapShape {
		opening, closing = '{', '}'
	}
	c.out = append(c.out, opening)
	for i := range h.size {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		s := jsontext.Step{Index: i}
		if h.shape == mapShape {
			key, problem := c.key()
			if problem != nil {
				return problem
			}
			s.Key = &key
		}
		c.way = append(c.way, s)
		if problem := c.value(); problem != nil {
			return problem
		}
		c.way = c.way[:len(c.way)-1]
	}
	c.out = append(c.out, closing)
	return nil
}

// key reads a key and writes it with its colon.
func (c *msgpackConverter) key() (string, *jsontext.Problem) {
	h, err := c.in.header()
	if err != nil {
		return "", c.broken(err)
	}
	if h.shape != textShape || isBinary(h.code) {
		return "", c.invalid("has a key that is not text: use text for every key")
	}
	key, err := c.in.take(h.size)
	if err != nil {
		return "", c.broken(err)
	}
	if problem := c.text(key); problem != nil {
		return "", problem
	}
	c.out = append(c.out, ':')
	return string(key), nil
}

func (c *msgpackConverter) text(text []byte) *jsontext.Problem {
	if !utf8.Valid(text) {
		return c.invalid("is not valid UTF-8")
	}
	for _, b := range text {
		if b < ' ' || b == '"' || b == '\\' {
			encoded, _ := jsontext.Encode(string(text)) // a string can always be encoded
			c.out = append(c.out, encoded...)
			return nil
		}
	}
	c.out = append(c.out, '"')
	c.out = append(append(c.out, text...), '"')
	return nil
}

func (c *msgpackConverter) timestamp(extension []byte) *jsontext.Problem {
	inner := recordReader{rest: extension}
	t, err := inner.time(header{shape: extensionShape, size: len(extension)})
	if err != nil {
		return c.invalid("is %s: the only extension that is accepted is a timestamp, of type -1", err)
	}
	if t.Year() < 0 || t.Year() > 9999 {
		return c.invalid("is out of range: use the years 0000 to 9999 in UTC")
	}
	c.out = append(c.out, '"')
	c.out = append(t.AppendFormat(c.out, time.RFC3339Nano), '"')
	return nil
}

func (c *msgpackConverter) scalar(h header, content []byte) *jsontext.Problem {
	inner := recordReader{rest: content}
	bits, _ := inner.bigEndian(len(content)) // the bytes are there
	switch h.code {
	case msgpcode.Nil:
		c.out = append(c.out, "null"...)
	case msgpcode.True, msgpcode.False:
		c.out = strconv.AppendBool(c.out, h.code == msgpcode.True)
	case msgpcode.Uint64:
		c.out = strconv.AppendUint(c.out, bits, 10)
	case msgpcode.Float:
		return c.float(float64(math.Float32frombits(uint32(bits))))
	case msgpcode.Double:
		return c.float(math.Float64frombits(bits))
	default:
		n, err := h.int(bits)
		if err != nil {
			return c.broken(err)
		}
		c.out = strconv.AppendInt(c.out, n, 10)
	}
	return nil
}

// float writes a number roughly as encoding/json does.
func (c *msgpackConverter) float(f float64) *jsontext.Problem {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return c.invalid("%v is not a number as JSON has them", f)
	}
	const small, large = 1e-6, 1e21
	form := byte('f')
	if magnitude := math.Abs(f); f != 0 && (magnitude < small || magnitude >= large) {
		form = 'e'
	}
	c.out = strconv.AppendFloat(c.out, f, form, -1, 64)
	return nil
}

// broken returns the problem at the place where the data stops being msgpack: the byte that was read last, or the missing one.
func (c *msgpackConverter) broken(err error) *jsontext.Problem {
	at := c.size - len(c.in.rest)
	if errors.Is(err, errCutShort) {
		at++
	}
	return jsontext.Problemf("", "is not valid msgpack: byte %d: %v", at, err)
}

func (c *msgpackConverter) invalid(format string, args ...any) *jsontext.Problem {
	return jsontext.Problemf(c.way.String(), format, args...)
}
