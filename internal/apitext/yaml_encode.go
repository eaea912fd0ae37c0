package apitext

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// maxBlocks bounds a text in block style. It leaves room for comments and marks within jsontext.MaxBytes.
const maxBlocks = jsontext.MaxBytes - 64<<10

// EncodeYAML writes v as one YAML document with a final newline. It has the same content as [EncodeJSON]: the same field names in
// the same order, durations as 90s, times in RFC 3339. [DecodeYAML] reads it back as v.
//
// In block style every line is indented, so a deep or long value may grow a hundredfold. If that makes it too long for
// DecodeYAML, although [DecodeJSON] could read the JSON, EncodeYAML writes it in one line, with brackets.
func EncodeYAML(v any) ([]byte, error) { return encodeYAML(v, maxBlocks) }

// encodeYAML writes one line if block style would take more than most bytes. It keeps block style if one line would be too long
// as well.
func encodeYAML(v any, most int) ([]byte, error) {
	text, err := EncodeJSON(v)
	if err != nil {
		return nil, err
	}
	if err := invalid(jsontext.Check(text, jsontext.MaxDepth)); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	root, err := readNode(decoder)
	if err != nil {
		return nil, schedule.Errorf(schedule.CodeInternal, "cannot read back what was written: %v", err)
	}
	if len(text) > jsontext.MaxBytes {
		most = math.MaxInt
	}
	out, err := writeYAML(root, most)
	if errors.Is(err, errTooLong) {
		inOneLine(root)
		out, err = writeYAML(root, math.MaxInt)
	}
	if err != nil {
		return nil, schedule.Errorf(schedule.CodeInternal, "cannot be written as YAML: %v", err)
	}
	return out, nil
}

// errTooLong means that a text would exceed its bound.
var errTooLong = errors.New("too long")

// boundedBuffer accepts up to most bytes.
type boundedBuffer struct {
	bytes.Buffer
	most int
	full bool
}

func (b *boundedBuffer) Write(data []byte) (int, error) {
	if b.full = b.Len()+len(data) > b.most; b.full {
		return 0, errTooLong
	}
	return b.Buffer.Write(data)
}

// writeYAML writes a document of up to most bytes. A longer one is errTooLong.
func writeYAML(root *yaml.Node, most int) ([]byte, error) {
	out := boundedBuffer{most: most}
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(root), encoder.Close())
	if out.full {
		return nil, errTooLong // the library keeps only the text of an error
	}
	return out.Bytes(), err
}

// inOneLine makes a node and everything in it use brackets.
func inOneLine(node *yaml.Node) {
	if node.Kind != yaml.ScalarNode {
		node.Style = yaml.FlowStyle
	}
	for _, element := range node.Content {
		inOneLine(element)
	}
}

// readNode turns the next JSON value, which is valid, into YAML.
func readNode(decoder *json.Decoder) (*yaml.Node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		return readContainer(decoder, token)
	case string:
		return textNode(token)
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: numberTag(token), Value: token.String()}, nil
	default: // true, false, null
		text, err := json.Marshal(token)
		return &yaml.Node{Kind: yaml.ScalarNode, Value: string(text)}, err
	}
}

func numberTag(number json.Number) string {
	if strings.ContainsAny(number.String(), ".eE") {
		return "!!float"
	}
	return "!!int"
}

// readContainer reads an object or list whose opening bracket has been read. Keys of an object are read like other values.
func readContainer(decoder *json.Decoder, opening json.Delim) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.SequenceNode}
	if opening == '{' {
		node.Kind = yaml.MappingNode
	}
	for decoder.More() {
		element, err := readNode(decoder)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, element)
	}
	_, err := decoder.Token()
	return node, err
}

// textNode chooses how to write a string: as a block if it is plain text of several lines, in quotes if other YAML readers might
// take it for something else, and otherwise bare.
func textNode(text string) (*yaml.Node, error) {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	switch {
	case isBlock(text):
		node.Style = yaml.LiteralStyle
	case strings.ContainsFunc(text, needsEscape), isJSONNumber(text): // the library leaves 1e400 bare
		node.Style = yaml.DoubleQuotedStyle
	default:
		return node, node.Encode(text)
	}
	return node, nil
}

// isBlock reports whether text has several lines and survives a literal block in every reader. It must begin with a visible
// character, no line may end in blanks, and nothing may need an escape.
func isBlock(text string) bool {
	lines := strings.Split(text, "\n")
	if len(lines) == 1 || lines[0] == "" || lines[0] != strings.TrimSpace(lines[0]) {
		return false
	}
	for _, line := range lines {
		if line != strings.TrimRight(line, " ") || strings.ContainsFunc(line, needsEscape) {
			return false
		}
	}
	return true
}

func needsEscape(r rune) bool { return !unicode.IsPrint(r) || r == '\ufeff' }
