// Compiles the header after the macros of Unreal and of Windows that are likeliest to meet its names.

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

#include <palpate.hpp>

// Instantiates the templates too.
int main() {
    palpate::Result<palpate::Server> server = palpate::Server::open_local();
    if (!server.ok()) return 1;
    palpate::Scene scene = server.value().create_scene("macros").value();
    const palpate::Result<std::vector<double>> none = scene.distances({});
    return none.ok() && none.value().empty() && scene.remove().ok() ? 0 : 1;
}
