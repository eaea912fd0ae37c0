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

// maxBlocks bounds what is written in blocks. It leaves room for comments and marks within jsontext.MaxBytes.
const maxBlocks = jsontext.MaxBytes - 64<<10

// EncodeYAML writes v as one YAML document with a final newline. It is what [EncodeJSON] writes in other clothes: the same
// field names in the same order, durations as 90s, times in RFC 3339; [DecodeYAML] reads it back as v.
//
// In blocks every line has its indentation, by which a deep or long input may grow a hundredfold. What [DecodeJSON] would read as
// JSON, and DecodeYAML would not read in blocks, is written in one line, with brackets.
func EncodeYAML(v any) ([]byte, error) { return encodeYAML(v, maxBlocks) }

// encodeYAML writes in one line what would have more than so many bytes in blocks, and could be read.
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

// errTooLong says that a text would be larger than it may be.
var errTooLong = errors.New("too long")

// boundedBuffer takes no more than so many bytes.
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

// writeYAML writes a document of at most so many bytes. A longer one is errTooLong.
func writeYAML(root *yaml.Node, most int) ([]byte, error) {
	out := boundedBuffer{most: most}
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err := errors.Join(encoder.Encode(root), encoder.Close())
	if out.full {
		return nil, errTooLong // the library keeps the text of an error alone
	}
	return out.Bytes(), err
}

// inOneLine has everything in a node be written with brackets.
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

// readContainer reads an object or list whose opening bracket has been read. In an object, keys are values like others.
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

// textNode chooses how a string is written: a block for several lines of plain text, quotes where other readers of YAML
// might take it for something else, bare otherwise.
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

// isBlock reports whether text has several lines and survives a literal block in every reader: it begins with a
// character that can be seen, no line ends in blanks, nothing needs an escape.
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
