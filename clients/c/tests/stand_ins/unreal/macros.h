// The macros of Unreal and of Windows that are likeliest to meet a header's names.

#define check(expr) static_assert(false, "palpate.hpp uses a macro of Unreal")
#define checkf(expr, ...) check(expr)
#define checkSlow(expr) check(expr)
#define verify(expr) check(expr)
#define verifyf(expr, ...) check(expr)
#define ensure(expr) check(expr)
#define ensureMsgf(expr, ...) check(expr)
#define unimplemented() check(0)
#define TEXT(x) L##x
#define PI (3.1415926535897932f)
#define INDEX_NONE (-1)
#define UPROPERTY(...)
#define UFUNCTION(...)
#define FORCEINLINE inline
#define IN
#define OUT
#define OPTIONAL
#define near
#define far
#define small char
#define interface struct
#define ERROR 0
#define NO_ERROR 0
#define DELETE (0x00010000L)
