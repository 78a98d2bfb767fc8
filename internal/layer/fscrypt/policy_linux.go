package fscrypt

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const rawKey = 64 // size in bytes of a master key, which is enough for every mode

// encrypt makes the file system encrypt an empty directory with a new key.
func encrypt(dir string, mode mode) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	// FS_IOC_ADD_ENCRYPTION_KEY takes this struct, which ends with the key, and writes the key's identifier into it.
	var add struct {
		unix.FscryptAddKeyArg
		raw [rawKey]byte
	}
	add.Key_spec.Type = unix.FSCRYPT_KEY_SPEC_TYPE_IDENTIFIER
	add.Raw_size = rawKey
	_, _ = rand.Read(add.raw[:])
	err = ioctl(f, unix.FS_IOC_ADD_ENCRYPTION_KEY, unsafe.Pointer(&add))
	clear(add.raw[:])
	if err != nil {
		return fmt.Errorf("add a key to the file system: %w (%s)", err, hint(err))
	}
	p := unix.FscryptPolicyV2{
		Version:                   unix.FSCRYPT_POLICY_V2,
		Contents_encryption_mode:  modes[mode].contents,
		Filenames_encryption_mode: modes[mode].names,
		Flags:                     unix.FSCRYPT_POLICY_FLAGS_PAD_32,
	}
	copy(p.Master_key_identifier[:], add.Key_spec.U[:])
	if err := ioctl(f, unix.FS_IOC_SET_ENCRYPTION_POLICY, unsafe.Pointer(&p)); err != nil {
		return fmt.Errorf("set the policy %s: %w (%s)", mode, err, hint(err))
	}
	try, err := os.CreateTemp(dir, "") // the kernel loads the cipher when it encrypts this file, and not earlier
	if err != nil {
		return fmt.Errorf("%s: %w (%s)", mode, err, hint(err))
	}
	_, err = try.Write([]byte{1})
	return errors.Join(err, try.Close(), os.Remove(try.Name()))
}

func hint(err error) string {
	switch {
	case errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOTTY):
		return "the file system or the kernel does not support encryption of files: use ext4 with -O encrypt, on a kernel with CONFIG_FS_ENCRYPTION"
	case errors.Is(err, unix.ENOPKG), errors.Is(err, unix.ENOENT):
		return "the kernel does not have this cipher"
	}
	return "see Documentation/filesystems/fscrypt.rst"
}

// policy returns a directory's encryption mode. The result is none if the directory or its file system has no
// encryption.
func policy(dir string) (string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	got := unix.FscryptGetPolicyExArg{Size: 24}
	err = ioctl(f, unix.FS_IOC_GET_ENCRYPTION_POLICY_EX, unsafe.Pointer(&got))
	switch {
	case errors.Is(err, unix.ENODATA), errors.Is(err, unix.ENOTTY), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return none, nil
	case err != nil:
		return "", err
	}
	for mode, numbers := range modes {
		if got.Policy[0] == unix.FSCRYPT_POLICY_V2 && got.Policy[1] == numbers.contents && got.Policy[2] == numbers.names {
			return string(mode), nil
		}
	}
	return fmt.Sprintf("version %d, modes %d and %d", got.Policy[0], got.Policy[1], got.Policy[2]), nil
}

func ioctl(f *os.File, request uint, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), uintptr(request), uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}
