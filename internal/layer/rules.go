package layer

// Match says which end of a path a layer's rule matches.
type Match string

const (
	Prefix Match = "prefix" // /directory/**
	Suffix Match = "suffix" // **/name
)

func (Match) Values() []string { return []string{string(Prefix), string(Suffix)} }

// Action is what a layer's rule does with an operation that it matches. The words are vArmor's.
type Action string

const (
	Deny  Action = "deny"
	Audit Action = "audit" // the operation is allowed, and counted or written to the kernel's log
	Allow Action = "allow" // the operation is allowed, and no other rule applies to it
)

func (Action) Values() []string { return []string{string(Deny), string(Audit), string(Allow)} }
