package schedule

import (
	"encoding/base64"
	"errors"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// DecodeMsgpack reads one msgpack value into the value that into points to, by the rules of [DecodeJSON]: the value is
// turned into JSON first. Field names, texts, durations and times are as in JSON. Beside that:
//
//   - a time may also be a timestamp of msgpack; other extensions are errors;
//   - binary data is base64 text;
//   - a number without a fraction is a whole number, 5.0 as well as 5; NaN and infinity are errors;
//   - a key must be text;
//   - the limits are those of DecodeJSON, both for the bytes and for the JSON that comes of them.
func DecodeMsgpack(data []byte, into any) error {
	if err := checkSize(len(data)); err != nil {
		return err
	}
	c := msgpackConverter{in: recordReader{rest: data}, size: len(data), out: make([]byte, 0, 2*len(data))}
	if err := c.value(); err != nil {
		return err
	}
	if rest := len(c.in.rest); rest > 0 {
		return Errorf(CodeInvalidArgument, "is not valid msgpack: byte %d: %d bytes too many", len(data)-rest+1, rest)
	}
	return DecodeJSON(c.out, into)
}

// msgpackConverter writes JSON, keys in their order, duplicates included: the JSON side finds them. Its stack is bounded by
// MaxTextDepth and its output by MaxTextBytes.
type msgpackConverter struct {
	in   recordReader
	size int // of the whole
	out  []byte
	way  trail
}

func (c *msgpackConverter) value() error {
	if err := checkSize(len(c.out)); err != nil {
		return err
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

// container reads the entries of a list or map. Each takes a byte at least, so that a size is trusted only as far as the data
// goes.
func (c *msgpackConverter) container(h header) error {
	if len(c.way) == MaxTextDepth {
		return tooDeep(MaxTextDepth)
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
		s := step{index: i}
		if h.shape == mapShape {
			key, err := c.key()
			if err != nil {
				return err
			}
			s.key = &key
		}
		c.way = append(c.way, s)
		if err := c.value(); err != nil {
			return err
		}
		c.way = c.way[:len(c.way)-1]
	}
	c.out = append(c.out, closing)
	return nil
}

// key reads a key and writes it with its colon.
func (c *msgpackConverter) key() (string, error) {
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
	if err := c.text(key); err != nil {
		return "", err
	}
	c.out = append(c.out, ':')
	return string(key), nil
}

func (c *msgpackConverter) text(text []byte) error {
	if !utf8.Valid(text) {
		return c.invalid("is not valid UTF-8")
	}
	for _, b := range text {
		if b < ' ' || b == '"' || b == '\\' {
			encoded, _ := EncodeJSON(string(text)) // a string always can be
			c.out = append(c.out, encoded...)
			return nil
		}
	}
	c.out = append(c.out, '"')
	c.out = append(append(c.out, text...), '"')
	return nil
}

func (c *msgpackConverter) timestamp(extension []byte) error {
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

func (c *msgpackConverter) scalar(h header, content []byte) error {
	inner := recordReader{rest: content}
	bits, _ := inner.bigEndian(len(content)) // which are there
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

// float writes a number as encoding/json does, more or less.
func (c *msgpackConverter) float(f float64) error {
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

// broken says where the data stops being msgpack: at the byte that was read last, or at the one that is missing.
func (c *msgpackConverter) broken(err error) error {
	at := c.size - len(c.in.rest)
	if errors.Is(err, errCutShort) {
		at++
	}
	return Errorf(CodeInvalidArgument, "is not valid msgpack: byte %d: %v", at, err)
}

func (c *msgpackConverter) invalid(format string, args ...any) error {
	return Invalid(c.way.String(), format, args...)
}
