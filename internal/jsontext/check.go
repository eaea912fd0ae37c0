package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Check finds what encoding/json would accept whatever the target type is: syntax, encoding, nesting, duplicate keys, trailing
// text.
func Check(data []byte, maxDepth int) *Problem {
	if !utf8.Valid(data) {
		return Problemf("", "is not valid UTF-8")
	}
	if !json.Valid(data) {
		var whole json.RawMessage
		return syntaxError(data, json.Unmarshal(data, &whole))
	}
	return checkStructure(data, maxDepth)
}

// syntaxError describes where in data the error is, in the terms of a text editor.
func syntaxError(data []byte, err error) *Problem {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return Problemf("", "is not valid JSON: %v", err)
	}
	return Problemf("", "is not valid JSON: %s: %v", placeAfter(data[:min(max(syntax.Offset, 0), int64(len(data)))]), err)
}

// placeAfter names the last byte of what has been read.
func placeAfter(read []byte) string {
	line := 1 + bytes.Count(read, []byte("\n"))
	column := len(read) - 1 - bytes.LastIndexByte(read, '\n')
	return fmt.Sprintf("line %d, column %d", line, max(column, 1))
}

// checkStructure checks data, which is valid JSON and UTF-8, for nesting beyond maxDepth, for duplicate keys, and for escapes
// that are half of a surrogate pair. encoding/json reads each such half as the same character, so that two texts would become
// one.
func checkStructure(data []byte, maxDepth int) *Problem {
	text := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		switch _, err := text.ReadToken(); {
		case err != nil:
			return structureError(data, text, err)
		case text.StackDepth() > maxDepth:
			return TooDeep(maxDepth)
		case text.StackDepth() == 0:
			return nil
		}
	}
}

// structureError describes what a decoder has found.
func structureError(data []byte, text *jsontext.Decoder, err error) *Problem {
	var syntax *jsontext.SyntacticError
	switch {
	case !errors.As(err, &syntax):
		return Problemf("", "is not valid JSON: %v", err)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return Problemf(pathOf(text, syntax.JSONPointer), "stands twice: use each key once")
	}
	at := int(syntax.ByteOffset)
	return Problemf("", "is not valid Unicode: %s: %s is half of a surrogate pair",
		placeAfter(data[:at+1]), data[at:min(at+unitBytes, len(data))])
}

// unitBytes is the length of an escape such as \u00fc.
const unitBytes = 6

// pathOf writes a pointer to a value, within the objects and lists that a decoder is reading, in the way of errors, see [Trail].
func pathOf(text *jsontext.Decoder, pointer jsontext.Pointer) string {
	var path string
	level := 1
	for token := range pointer.Tokens() {
		index, err := strconv.Atoi(token)
		if kind, _ := text.StackIndex(level); kind == '[' && err == nil {
			path = Indexed(path, index)
		} else {
			path = JoinKey(path, token)
		}
		level++
	}
	return path
}
