package layer

// Match says which end of a path a rule of a layer gives.
type Match string

// The choices.
const (
	Prefix Match = "prefix" // /directory/**
	Suffix Match = "suffix" // **/name
)

// Values lists the choices.
func (Match) Values() []string { return []string{string(Prefix), string(Suffix)} }

// Action is what a rule of a layer does to what it is for, in vArmor's words.
type Action string

// The actions.
const (
	Deny  Action = "deny"
	Audit Action = "audit" // it is allowed, and noted: counted, or written to the kernel's log
	Allow Action = "allow" // it is allowed, and no other rule is looked at
)

// Values lists the actions.
func (Action) Values() []string { return []string{string(Deny), string(Audit), string(Allow)} }
