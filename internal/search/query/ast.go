package query

import "time"

// Query is a search: a condition, and an order.
type Query struct {
	// Where is the condition; nil holds for everything.
	Where Expr
	// Order is the order of the answer; nil stands for the usual one: schedules by ID, executions with the last closed first.
	Order *Order
	// Group is what executions are to be counted by; nil if they are counted as a whole.
	Group *Field
}

// Order sorts by a field, and by the ID where that is equal. What has no value comes last, in both directions.
type Order struct {
	Field Field
	Desc  bool
	// Kind is the type of the values that are compared, if the field is a search attribute of executions: the least of an execution counts. Numbers
	// have the type [Int].
	Kind Kind
}

// Expr is a condition: one of [And], [Or], [Not], [Compare], [In], [Between] and [IsNull]. It is true or false, never
// unknown: what is asked of a value is false where there is none, or one of another type, and [Not] turns that round.
type Expr interface {
	write(w *printer, within precedence)
}

// And holds where all its parts do. It has at least two, none of which is an And.
type And []Expr

// Or holds where one of its parts does. It has at least two, none of which is an Or.
type Or []Expr

// Not holds where its condition does not.
type Not struct{ Expr Expr }

// Op is how a value is compared.
type Op string

// The comparisons. [NotEqual] holds where there is a value of the same type, and another one; of a list, where no element
// is equal. The others hold for a list where they do for one element.
const (
	Equal          Op = "="
	NotEqual       Op = "!="
	Less           Op = "<"
	LessOrEqual    Op = "<="
	Greater        Op = ">"
	GreaterOrEqual Op = ">="
	StartsWith     Op = "starts_with"
)

// Compare compares the value of a field with another.
type Compare struct {
	Field Field
	Op    Op
	Value Value
}

// In holds where a field has one of some values; negated, where it has a value of the same type as one of them, and none
// of them.
type In struct {
	Field   Field
	Values  []Value
	Negated bool
}

// Between holds where a field has a value from Low to High, both included; negated, where it has one of the type of both,
// and none in between.
type Between struct {
	Field     Field
	Low, High Value
	Negated   bool
}

// IsNull holds where a field has no value; negated, where it has one.
type IsNull struct {
	Field   Field
	Negated bool
}

// Kind is the type of a value.
type Kind string

// The types of values.
const (
	Text    Kind = "string"
	Int     Kind = "int"
	Double  Kind = "double"
	Boolean Kind = "bool"
	// Time is a datetime. It counts in microseconds.
	Time Kind = "datetime"
)

// Value is a value of a query, or of a schedule. Kind says which of the others is set.
type Value struct {
	Kind   Kind
	Text   string
	Int    int64
	Double float64
	Bool   bool
	// Time has no part smaller than a microsecond, and is in UTC.
	Time time.Time
}

// TextOf returns a string.
func TextOf(text string) Value { return Value{Kind: Text, Text: text} }

// IntOf returns a whole number.
func IntOf(n int64) Value { return Value{Kind: Int, Int: n} }

// DoubleOf returns a number.
func DoubleOf(f float64) Value { return Value{Kind: Double, Double: f} }

// BoolOf returns a truth value.
func BoolOf(b bool) Value { return Value{Kind: Boolean, Bool: b} }

// TimeOf returns a datetime, cut to microseconds.
func TimeOf(t time.Time) Value {
	return Value{Kind: Time, Time: time.UnixMicro(t.UnixMicro()).UTC()}
}
